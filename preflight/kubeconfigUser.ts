import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import type { ClusterConnection } from "../runtime/program";

/** A kubeconfig's fields of a user that client-node does not read, or not completely (config_types.ts, newUsers). */
export interface KubeconfigUser {
  /** The file with the user's bearer token. Without it, the API server could not authenticate the user. */
  readonly tokenFile?: string | undefined;
  /** Whom the user acts as. Without it, the user would act with more rights than they chose, or with others. */
  readonly impersonation?: ClusterConnection["impersonation"];
}

/**
 * Reads a user of a kubeconfig.
 * @param source the path of a kubeconfig, or its text. Undefined: `$KUBECONFIG`, which may name several files, else
 *   `~/.kube/config`
 * @param isText whether the source is the text
 * @param name the name of the user. If several files have it, the first one counts, as for kubectl
 */
export function kubeconfigUser(source: string | undefined, isText: boolean, name: string): KubeconfigUser {
  if (isText) return { impersonation: impersonationOf(userIn(source ?? "", name) ?? {}) };
  const files = source
    ? [source]
    : ((process.env.KUBECONFIG || undefined)?.split(delimiter) ?? [join(homedir(), ".kube", "config")]);
  for (const file of files.filter(existsSync)) {
    const user = userIn(readFileSync(file, "utf8"), name);
    if (!user) continue;
    const { tokenFile } = user;
    return {
      tokenFile: tokenFile ? resolve(dirname(file), tokenFile) : undefined,
      impersonation: impersonationOf(user),
    };
  }
  return {};
}

interface User {
  readonly tokenFile?: string;
  readonly as?: string;
  readonly "as-uid"?: string;
  readonly "as-groups"?: readonly string[];
  readonly "as-user-extra"?: Readonly<Record<string, readonly string[]>>;
}

interface NamedUser {
  readonly name?: string;
  readonly user?: User | null;
}

/** Undefined if the kubeconfig has no such user. */
function userIn(text: string, name: string): User | undefined {
  // client-node's parser has accepted the text. This one's warnings would quote lines, which may contain a token.
  const content = parse(text, { logLevel: "silent" });
  const { users } = (content ?? {}) as { users?: NamedUser[] | null };
  const found = users?.find((each) => each.name === name);
  return found && (found.user ?? {});
}

/** @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation */
function impersonationOf({
  as,
  "as-uid": uid,
  "as-groups": groups,
  "as-user-extra": extra,
}: User): KubeconfigUser["impersonation"] {
  const headers = Object.entries({
    "impersonate-user": as,
    "impersonate-uid": uid,
    "impersonate-group": groups,
    ...Object.fromEntries(
      Object.entries(extra ?? {}).map(([key, values]) => [
        `impersonate-extra-${encodeURIComponent(key)}`,
        values,
      ]),
    ),
  }).flatMap(([header, value]): [string, string | string[]][] => {
    if (value === undefined || value === null || value.length === 0) return [];
    return [[header, typeof value === "string" ? value : [...value]]];
  });
  return headers.length > 0 ? Object.fromEntries(headers) : undefined;
}
