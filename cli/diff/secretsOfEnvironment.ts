import { formatName, type KubernetesObject } from "../../runtime/base/objects";
import { builtIn, ifRefused, type KubernetesClient, type Operator } from "../../runtime/cli";

/**
 * The Secrets of an operator's `secretEnv`, and one with the values that these variables have in this shell: `argosy dev` gives
 * them to the handler. Its children may have copies of all these values.
 * @param onUnread called with each that cannot be read
 */
export async function secretsOfEnvironment(
  client: KubernetesClient,
  { secretEnv }: Pick<Operator, "secretEnv">,
  home: string,
  onUnread: (name: string) => void,
): Promise<KubernetesObject[]> {
  const names = [...new Set(Object.values(secretEnv).map(({ secret }) => secret))];
  const found = await Promise.all(
    names.map(async (name) => {
      const place = { namespace: home, name };
      const secret = await client.get(builtIn("v1", "Secret"), place).catch(ifRefused(403, undefined));
      if (!secret) onUnread(formatName(place));
      return secret;
    }),
  );
  const here = Object.fromEntries(Object.keys(secretEnv).map((name) => [name, process.env[name] ?? ""]));
  const shell = { metadata: { name: "environment", uid: "", resourceVersion: "" }, stringData: here };
  return [...found.filter((secret) => secret !== undefined), { apiVersion: "v1", kind: "Secret", ...shell }];
}
