import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Operator } from "../runtime/definition/definition";
import type { ClusterConnection } from "../runtime/kubernetes/connection";
import { handlerAccountOf, keepHandlerToken, replaceFile } from "../runtime/pod/handlerToken";
import { HANDLER_ACCOUNT_VARIABLE } from "../runtime/pod/layout";

/** The service account of a handler with `rules`, as a handler on this machine finds it. */
export interface HandlerAccount {
  /** The folder of its files: token, ca.crt and namespace, as in a pod, and a kubeconfig with them. */
  readonly folder: string;
  /** The variables of the handler's environment that say where the API server and the token are. */
  readonly env: Readonly<Record<string, string>>;
  /** Removes the files, and renews them no more. */
  close(): void;
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
  /** Aborts the wait for the first token. */
  readonly signal?: AbortSignal | undefined;
}

/** The names of the files beside those of a pod. */
const KUBECONFIG = "kubeconfig";
/** Nobody but the author, and what runs as the author. */
const PRIVATE = 0o600;

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
  signal,
}: HandlerAccountOptions): Promise<HandlerAccount | undefined> {
  if (operator.rules.length === 0) return undefined;
  // Made for its owner alone, whatever the umask is.
  const folder = mkdtempSync(path.join(tmpdir(), "argosy-account-"));
  const kubeconfig = path.join(folder, KUBECONFIG);
  const closing = new AbortController();
  let isFirst = true;
  const close = () => {
    closing.abort();
    rmSync(folder, { recursive: true, force: true });
  };
  // Nobody who is killed by process.exit has closed it.
  process.once("exit", close);
  try {
    await keepHandlerToken({
      connection: runner,
      namespace,
      account: handlerAccountOf(operator.name),
      folder,
      mode: PRIVATE,
      signal: signal ? AbortSignal.any([signal, closing.signal]) : closing.signal,
      onWritten: (token) => {
        replaceFile(kubeconfig, kubeconfigOf({ runner, namespace, folder, token }), PRIVATE);
        if (!isFirst) onRenewed();
        isFirst = false;
      },
      onError: ({ message }) => {
        if (!closing.signal.aborted) onNotice(`the handler's token: ${message}`);
      },
    });
  } catch (error) {
    close();
    signal?.throwIfAborted();
    throw error;
  }
  return {
    folder,
    env: { ...addressOf(runner.server), [HANDLER_ACCOUNT_VARIABLE]: folder, KUBECONFIG: kubeconfig },
    close: () => {
      process.off("exit", close);
      close();
    },
  };
}

/**
 * A kubeconfig with a token, as JSON, which is YAML. The token stands in it and is named by its file: some clients read the file
 * again when it has changed, and others know only one of the two.
 */
function kubeconfigOf({
  runner: { server, serverName, skipVerification },
  namespace,
  folder,
  token,
}: {
  readonly runner: ClusterConnection;
  readonly namespace: string;
  readonly folder: string;
  readonly token: string;
}): string {
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
            : { "certificate-authority": path.join(folder, "ca.crt") }),
          ...(serverName !== undefined && { "tls-server-name": serverName }),
        },
      },
    ],
    users: [{ name: user, user: { token, tokenFile: path.join(folder, "token") } }],
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
