import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parse } from "yaml";

/**
 * The file with the bearer token of a kubeconfig's user, if the kubeconfig names one: `tokenFile`. client-node leaves it out
 * (config_types.ts, newUsers), so that the API server would know nobody.
 *
 * @param source the path of a kubeconfig. Undefined: `$KUBECONFIG`, which may name several files, else `~/.kube/config`
 * @param user the name of the user. If several files have it, the first one counts, as for kubectl
 */
export function tokenFileOf(source: string | undefined, user: string): string | undefined {
  const files = source
    ? [source]
    : ((process.env.KUBECONFIG || undefined)?.split(delimiter) ?? [join(homedir(), ".kube", "config")]);
  for (const file of files.filter(existsSync)) {
    // client-node's parser has read it, and takes what this one complains of with the lines around it, which may have a token.
    const content = parse(readFileSync(file, "utf8"), { logLevel: "silent" });
    const { users } = (content ?? {}) as { users?: NamedUser[] | null };
    const found = users?.find(({ name }) => name === user);
    if (found) return found.user?.tokenFile ? resolve(dirname(file), found.user.tokenFile) : undefined;
  }
  return undefined;
}

interface NamedUser {
  readonly name?: string;
  readonly user?: { readonly tokenFile?: string } | null;
}
