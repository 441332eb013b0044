import { chmodSync, mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  type ClusterConnection,
  HANDLER_ACCOUNT_VARIABLE,
  handlerAccountOf,
  keepHandlerToken,
  type Operator,
  POD_LAYOUT,
  replaceFile,
} from "../../runtime/cli";
import { Watchdog } from "../controlPlane/watchdog";

/** The service account of a handler with `rules`, in the form that a handler on this machine finds. */
export interface HandlerAccount {
  /** The folder of its files: token, ca.crt and namespace, as in a pod, and a kubeconfig with them. */
  readonly folder: string;
  /** The variables of the handler's environment that say where the API server and the token are. */
  readonly env: Readonly<Record<string, string>>;
  /** The same for a handler in a container, where the folder has the same path as in a pod. */
  readonly envInPod: Readonly<Record<string, string>>;
  /** Removes the files, and stops renewing them. The files are also removed when this process ends for any reason. */
  close(): Promise<void>;
}

/** @see openHandlerAccount */
export interface HandlerAccountOptions {
  readonly operator: Operator;
  /** A connection to the cluster as the operator's runner, which may fetch only the handler's token. */
  readonly runner: ClusterConnection;
  /** The namespace of both accounts. */
  readonly namespace: string;
  /** Called when the token has been renewed. A process may have read the old token and keep it. */
  readonly onRenewed: () => void;
  /** Called with a sentence for each failure to get a token, before the next try. */
  readonly onNotice: (notice: string) => void;
  /**
   * Whether the handler runs as another user, in a container. Other users cannot reach the files in that case either.
   * @default false
   */
  readonly isForContainer?: boolean;
  /** Aborts the wait for the first token. */
  readonly signal?: AbortSignal | undefined;
}

/** The name of the file that a pod does not have. */
const KUBECONFIG = "kubeconfig";
/** Readable only for the author, and for programs that run as the author. */
const PRIVATE = 0o600;
/** Readable for anyone who can reach the folder, which is inside a folder of the author. A container mounts it. */
const SHARED = 0o444;

/**
 * Gets a token for a handler with `rules`, and renews it before it ends. The handler finds it as in a pod, by
 * `ARGOSY_SERVICE_ACCOUNT`, `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`. In a pod, Kubernetes' clients look for the
 * token at a fixed path, which cannot be written on this machine. So `KUBECONFIG` leads them to it.
 *
 * @returns undefined for a handler without `rules`
 * @throws the signal's reason
 */
export async function openHandlerAccount({
  operator,
  runner,
  namespace,
  onRenewed,
  onNotice,
  isForContainer = false,
  signal,
}: HandlerAccountOptions): Promise<HandlerAccount | undefined> {
  if (operator.rules.length === 0) return undefined;
  // Only its owner can open the folder, whatever the umask is.
  const own = mkdtempSync(path.join(realpathSync(tmpdir()), "argosy-account-"));
  const watchdog = new Watchdog(own);
  const folder = isForContainer ? path.join(own, "account") : own;
  const mode = isForContainer ? SHARED : PRIVATE;
  if (isForContainer) {
    mkdirSync(folder);
    chmodSync(folder, 0o755);
  }
  const kubeconfig = path.join(folder, KUBECONFIG);
  const closing = new AbortController();
  let isFirst = true;
  const close = () => {
    closing.abort();
    return watchdog.stop();
  };
  try {
    await keepHandlerToken({
      connection: runner,
      namespace,
      account: handlerAccountOf(operator.name),
      folder,
      mode,
      signal: signal ? AbortSignal.any([signal, closing.signal]) : closing.signal,
      onWritten: (token) => {
        replaceFile(kubeconfig, kubeconfigOf(runner, namespace, token), mode);
        if (!isFirst) onRenewed();
        isFirst = false;
      },
      onError: ({ message }) => {
        if (!closing.signal.aborted) onNotice(`the handler's token: ${message}`);
      },
    });
  } catch (error) {
    await close();
    signal?.throwIfAborted();
    throw error;
  }
  const address = addressOf(runner.server);
  return {
    folder,
    env: { ...address, [HANDLER_ACCOUNT_VARIABLE]: folder, KUBECONFIG: kubeconfig },
    envInPod: {
      ...address,
      [HANDLER_ACCOUNT_VARIABLE]: POD_LAYOUT.serviceAccount,
      // A pod has no such variable. Here it gives the address if the other variables cannot.
      ...(Object.keys(address).length === 0 && {
        KUBECONFIG: path.posix.join(POD_LAYOUT.serviceAccount, KUBECONFIG),
      }),
    },
    close,
  };
}

/**
 * A kubeconfig with a token, as JSON, which is YAML. It contains both the token and the path of the token's file. Some clients
 * read the file again when it has changed, and others support only one of the two. Paths are from the kubeconfig's own folder.
 */
function kubeconfigOf(
  { server, serverName, skipVerification }: ClusterConnection,
  namespace: string,
  token: string,
): string {
  const [cluster, user, context] = ["cluster", "handler", "handler"];
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: cluster,
        cluster: {
          server,
          // The two exclude each other.
          ...(skipVerification
            ? { "insecure-skip-tls-verify": true }
            : { "certificate-authority": "ca.crt" }),
          ...(serverName !== undefined && { "tls-server-name": serverName }),
        },
      },
    ],
    users: [{ name: user, user: { token, tokenFile: "token" } }],
    contexts: [{ name: context, context: { cluster, user, namespace } }],
    "current-context": context,
  });
}

/**
 * The variables with the address of the API server that the kubelet gives a pod. Empty if the address has a path, which only the
 * kubeconfig can express.
 */
export function addressOf(server: string): Record<string, string> {
  const { hostname, port, pathname, protocol } = new URL(server);
  if (pathname !== "/" || protocol !== "https:") return {};
  return {
    KUBERNETES_SERVICE_HOST: hostname.replace(/^\[(.*)\]$/, "$1"),
    KUBERNETES_SERVICE_PORT: port === "" ? "443" : port,
  };
}
