import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import path from "node:path";
import type { Cluster, KubeConfig } from "@kubernetes/client-node";
import { type ClusterConnection, tokenFromFile } from "../runtime/program";
import { kubeconfigUser } from "./kubeconfigUser";

/** A kubeconfig, or one of its contexts, that cannot be used. */
export class KubeconfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "KubeconfigError";
  }
}

/**
 * The connection that a kubeconfig describes: client certificates, tokens and token files, login programs of cloud providers, and
 * impersonation. A token file is read again when it changes. A login program is called again when its token has expired.
 *
 * @param given a kubeconfig's file, or the text of one, as Pulumi's Kubernetes provider takes both. @default `$KUBECONFIG`, else
 *   `~/.kube/config`
 * @param context the context to use. @default the kubeconfig's current context
 * @param clusterName the cluster to use. @default the context's
 * @throws KubeconfigError if it cannot be read, or has no such context or no such cluster
 */
export async function connectionFromKubeconfig(
  given?: string,
  context?: string,
  clusterName?: string,
): Promise<ClusterConnection> {
  const source = given === undefined ? undefined : atHome(given);
  const config = await load(source);
  if (context) chooseContext(config, context);
  if (clusterName) chooseCluster(config, clusterName);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new KubeconfigError(whyNoCluster(config));
  refuseUnreachable(cluster);
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  const user = config.getCurrentUser()?.name;
  // As for kubectl, a token's file takes precedence over a token in the kubeconfig itself.
  const { tokenFile, impersonation } = user === undefined ? {} : kubeconfigUser(source, isText(source), user);
  const tls: RequestOptions = {};
  await config.applyToHTTPSOptions(tls);
  return {
    server: cluster.server,
    ...(namespace && { namespace }),
    ...(cluster.skipTLSVerify && { skipVerification: true }),
    ...(cluster.tlsServerName && { serverName: cluster.tlsServerName }),
    ...(isPem(tls.ca) && { certificateAuthority: tls.ca }),
    ...(isPem(tls.cert) && { certificate: tls.cert }),
    ...(isPem(tls.key) && { privateKey: tls.key }),
    ...(impersonation && { impersonation }),
    token: tokenFile ? tokenFromFile(tokenFile) : () => bearerToken(config),
  };
}

/** Expands `~`, as Pulumi's provider does: no shell has seen what is in a configuration. */
function atHome(source: string): string {
  return source === "~" || source.startsWith("~/") ? path.join(homedir(), source.slice(1)) : source;
}

/**
 * Reads a kubeconfig.
 * @throws KubeconfigError if it cannot be read, or if there is none
 */
async function load(source: string | undefined): Promise<KubeConfig> {
  // client-node is loaded only here, because that takes a second, and users without a cluster should not wait for it.
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  try {
    if (isText(source)) config.loadFromString(source);
    else if (source) config.loadFromFile(source);
    else config.loadFromDefault();
  } catch (error) {
    const { KUBECONFIG } = process.env;
    const remedy = source || !KUBECONFIG ? "name another one" : "set KUBECONFIG to another one, or unset it";
    // `argosy dev` removes it at its end, and the terminal still names it.
    const note = /\/argosy\/dev\/[^/]+$/.test(source ?? KUBECONFIG ?? "")
      ? " It is there while argosy dev runs."
      : "";
    throw new KubeconfigError(`${refusal(source, error as Error)}. Correct it, or ${remedy}.${note}`);
  }
  if (config.getCurrentContext() !== MADE_UP) return config;
  throw new KubeconfigError(
    "there is no kubeconfig: KUBECONFIG is not set, and ~/.kube/config is missing. Set KUBECONFIG to the path of a " +
      "kubeconfig.",
  );
}

/** @throws KubeconfigError if the kubeconfig has no such context */
function chooseContext(config: KubeConfig, context: string): void {
  const known = config.getContexts().map(({ name }) => name);
  if (!known.includes(context)) {
    throw new KubeconfigError(
      `the kubeconfig has no context "${context}". It has: ${known.join(", ") || "none"} (kubectl config get-contexts).`,
    );
  }
  config.setCurrentContext(context);
}

/** Why the current context of a kubeconfig leads to no cluster. */
function whyNoCluster(config: KubeConfig): string {
  const current = config.getCurrentContext();
  const context = config.getContextObject(current);
  if (context)
    return `the context "${current}" of the kubeconfig names the cluster "${context.cluster}", which is not in it. Correct it, or name another context.`;
  const known = config.getContexts().map(({ name }) => name);
  if (known.length === 0) return "the kubeconfig has no contexts. Correct it, or name another one.";
  const what = current ? `no context "${current}", which is its current context` : "no current context";
  return `the kubeconfig has ${what}. Name one of its contexts: ${known.join(", ")}.`;
}

/**
 * The current context with another cluster.
 * @throws KubeconfigError if the kubeconfig has no such cluster
 */
function chooseCluster(config: KubeConfig, cluster: string): void {
  const known = config.getClusters().map(({ name }) => name);
  if (!known.includes(cluster)) {
    throw new KubeconfigError(
      `the kubeconfig has no cluster "${cluster}". It has: ${known.join(", ") || "none"} (kubectl config get-clusters).`,
    );
  }
  const current = config.getCurrentContext();
  config.contexts = config.getContexts().map((each) => (each.name === current ? { ...each, cluster } : each));
}

/**
 * kubectl reaches such a cluster. Without this, Argosy would say that the cluster does not answer.
 * @throws KubeconfigError
 */
function refuseUnreachable({ name, server, proxyUrl }: Cluster): void {
  // The address of a proxy may contain a password.
  if (proxyUrl)
    throw new KubeconfigError(
      `the cluster "${name}" of the kubeconfig has a proxy-url, and Argosy does not use proxies. Name a kubeconfig whose ` +
        "server is reached without one: by a VPN, or by a forwarded port such as that of ssh -L, with tls-server-name.",
    );
  if (!server.startsWith("https://"))
    throw new KubeconfigError(
      `the cluster "${name}" of the kubeconfig has the server ${server}, and Argosy uses only https://. Name a kubeconfig ` +
        "with the address of the API server itself.",
    );
}

/** Whether this is the text of a kubeconfig. Otherwise it is the path of one. */
function isText(source: string | undefined): source is string {
  return source !== undefined && /\n|^\s*\{/.test(source);
}

/** What a path begins with, or a short relative one. A kubeconfig in base64 is neither. */
const PATH = /^([./~]|[a-z]:[\\/])|^.{1,64}$/i;

/** Says why a kubeconfig is refused. Only what is certainly a path is named: everything else may be a secret. */
function refusal(given: string | undefined, error: Error): string {
  if (isText(given)) return `the kubeconfig is not a valid kubeconfig: ${complaint(error)}`;
  const file = given || process.env.KUBECONFIG || "~/.kube/config";
  if (PATH.test(file)) return `${file} is not a valid kubeconfig: ${complaint(error)}`;
  if (!given) return "KUBECONFIG is not the path of a file";
  return "the kubeconfig is neither the text of a kubeconfig nor the path of a file. If it is in base64, decode it";
}

/** Why a kubeconfig cannot be read, without any of its content, which may be a token. */
function complaint(error: Error & { reason?: string; mark?: { line: number }; syscall?: string }): string {
  // The message of a YAML parser shows the lines around the error, and its reason may end with a word of them.
  if (error.reason && error.mark) return `${error.reason.split(/ ?["!:]/)[0]} in line ${error.mark.line + 1}`;
  // client-node reads the clusters of the parsed file, and an empty file parses to nothing.
  if (error instanceof TypeError) return "it has no clusters, users and contexts";
  // As Node writes it: "ENOENT: no such file or directory, open '/none'".
  return error.syscall ? error.message.replace(/^\w+: (.*?), .*$/s, "$1") : error.message;
}

/** The context that client-node makes up if it finds no kubeconfig (config.ts, loadFromDefault). */
const MADE_UP = "loaded-context";

async function bearerToken(config: KubeConfig): Promise<string | undefined> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const authorization = (options.headers as Record<string, string> | undefined)?.["Authorization"];
  return authorization?.replace(/^Bearer /, "");
}

function isPem(value: unknown): value is string | Buffer {
  return typeof value === "string" || Buffer.isBuffer(value);
}
