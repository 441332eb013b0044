import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** How to reach an API server, and with which credentials. */
export interface ClusterConnection {
  /** "https://host:port" */
  readonly server: string;
  /**
   * PEM of the authority that signed the server's certificate. It is read before every request, so that a new authority of the
   * cluster is trusted at once. @default Node's own authorities
   */
  readonly certificateAuthority?: string | Buffer;
  /** PEM of a client certificate, with {@link privateKey}. */
  readonly certificate?: string | Buffer;
  readonly privateKey?: string | Buffer;
  /** Gives the bearer token. Called before every request, so that a rotated token is used at once. */
  readonly token?: () => string | undefined | Promise<string | undefined>;
  /** Headers that say whom the credentials impersonate. @default none */
  readonly impersonation?: Readonly<Record<string, string | string[]>>;
  /** The name that the server's certificate must have, if that is not the host's. */
  readonly serverName?: string;
  /** Accept any certificate of the server. @default false */
  readonly skipVerification?: boolean;
  /** The namespace of requests that name none. @default "default" */
  readonly namespace?: string;
}

/**
 * Reads a bearer token from a file, and again whenever the file has changed: the kubelet replaces a projected token well before
 * it expires (https://kubernetes.io/docs/concepts/storage/projected-volumes/#serviceaccounttoken).
 */
export function tokenFromFile(path: string): () => string {
  const read = contentOf(path);
  return () => read().toString("utf8").trim();
}

/** Reads a file, and again whenever it has changed. As long as it has not, the content is the same object. */
function contentOf(path: string): () => Buffer {
  let content = Buffer.alloc(0);
  let readAt = Number.NaN;
  return () => {
    const changedAt = statSync(path).mtimeMs;
    if (changedAt !== readAt) {
      content = readFileSync(path);
      readAt = changedAt;
    }
    return content;
  };
}

/**
 * The connection of a pod to its own cluster, as its service account.
 * @param folder the folder in which Kubernetes mounts the account's token
 * @throws Error outside of a cluster, or if the pod has no token mounted
 */
export function inClusterConnection(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): ClusterConnection {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  const tokenFile = join(folder, "token");
  if (!host || !port || !existsSync(tokenFile)) {
    throw new Error(
      `not in a Kubernetes pod with a service account: KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT or ${tokenFile} is missing`,
    );
  }
  const authority = contentOf(join(folder, "ca.crt"));
  authority();
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    get certificateAuthority() {
      return authority();
    },
    token: tokenFromFile(tokenFile),
    namespace: readFileSync(join(folder, "namespace"), "utf8").trim(),
  };
}
