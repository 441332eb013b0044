import { chmodSync, mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Operator } from "../runtime/definition/definition";
import type { ClusterConnection } from "../runtime/kubernetes/connection";
import { handlerAccountOf, keepHandlerToken, replaceFile } from "../runtime/pod/handlerToken";
import { HANDLER_ACCOUNT_VARIABLE, POD_LAYOUT } from "../runtime/pod/layout";
import { Watchdog } from "./controlPlane/watchdog";

/** The service account of a handler with `rules`, as a handler on this machine finds it. */
export interface HandlerAccount {
  /** The folder of its files: token, ca.crt and namespace, as in a pod, and a kubeconfig with them. */
  readonly folder: string;
  /** The variables of the handler's environment that say where the API server and the token are. */
  readonly env: Readonly<Record<string, string>>;
  /** The same for a handler in a container, which has the folder where a pod has it. */
  readonly envInPod: Readonly<Record<string, string>>;
  /** Removes the files, and stops renewing them. The files are also removed when this process ends for any reason. */
  close(): Promise<void>;
}

/** @see openHandlerAccount */
export interface HandlerAccountOptions {
  readonly operator: Operator;
  /** The cluster as the operator's runner: it may fetch the handler's token, and nobody else's. */
  readonly runner: ClusterConnection;
  /** The namespace of both accounts. */
  readonly namespace: string;
  /** Called when the token has been renewed. A process may have read the former one for good. */
  readonly onRenewed: () => void;
  /** Called, in a sentence, with each failure to get a token, before the next try. */
  readonly onNotice: (notice: string) => void;
  /** Whether the handler runs as another user, in a container. Nobody else reaches the files then either. @default false */
  readonly isForContainer?: boolean;
  /** Aborts the wait for the first token. */
  readonly signal?: AbortSignal | undefined;
}

/** The names of the files beside those of a pod. */
const KUBECONFIG = "kubeconfig";
/** Only the author, and programs that run as the author. */
const PRIVATE = 0o600;
/** Anybody who can reach the folder, which is in a folder of the author's. A container has it mounted. */
const SHARED = 0o444;

/**
 * Gets a token for a handler with `rules`, and renews it before it ends. The handler finds it as in a pod, by
 * `ARGOSY_SERVICE_ACCOUNT`, `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`. Kubernetes' clients look for it at
 * a path of its own in a pod, where nothing can be written here: `KUBECONFIG` leads them to it.
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
  // Made for its owner alone, whatever the umask is.
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
 * A kubeconfig with a token, as JSON, which is YAML. The token stands in it and is named by its file: some clients read the file
 * again when it has changed, and others know only one of the two. Paths are from the kubeconfig's own folder.
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
 * The API server as the kubelet says it to a pod. Empty where its address has a path: these variables cannot say that, and
 * the kubeconfig does.
 */
export function addressOf(server: string): Record<string, string> {
  const { hostname, port, pathname, protocol } = new URL(server);
  if (pathname !== "/" || protocol !== "https:") return {};
  return {
    KUBERNETES_SERVICE_HOST: hostname.replace(/^\[(.*)\]$/, "$1"),
    KUBERNETES_SERVICE_PORT: port === "" ? "443" : port,
  };
}
