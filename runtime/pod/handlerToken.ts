import { chmodSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { ClusterConnection } from "../kubernetes/connection";
import { HttpTransport } from "../kubernetes/transport";

/** Whose token is kept where. */
export interface HandlerTokenOptions {
  /** The runner's own connection: it may create tokens for that one account. */
  readonly connection: ClusterConnection;
  /** The namespace of the account. */
  readonly namespace: string;
  /** The account's name: {@link handlerAccountOf} the operator. */
  readonly account: string;
  /** Where the files go: an emptyDir that both containers have. */
  readonly folder: string;
}

/** How a token is kept fresh. */
export interface KeepTokenOptions extends HandlerTokenOptions {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Told of each failure, before the next try. */
  readonly onError: (error: Error) => void;
}

/** The answer of the TokenRequest API. */
interface TokenRequest {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

/** How long a token shall hold, in seconds; the API server may choose another time. */
const LIFETIME_SECONDS = 3_600;
/** A token is replaced when so much of its time has passed: what the kubelet does too. */
const RENEWED_AFTER = 0.8;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** Readable for the user and the group of the pod, which both containers have. */
const FILE_MODE = 0o440;

/** The service account of an operator's handler, where it has one: where the operator declares `rules`. */
export function handlerAccountOf(operator: string): string {
  return `${operator}-handler`;
}

/**
 * Keeps a token of the handler's account in a folder, with the files and names that a pod's service account has, so that
 * Kubernetes' clients find it by themselves. Resolves when the first one is there; then renews it until the signal.
 * @throws AbortError on the signal
 */
export async function keepHandlerToken(options: KeepTokenOptions): Promise<void> {
  const { signal } = options;
  const renewAt = await writeEventually(options);
  void (async () => {
    for (let next = renewAt; ; next = await writeEventually(options)) {
      await pause(Math.max(FIRST_RETRY_MS, next - Date.now()), undefined, { signal, ref: false });
    }
  })().catch(() => {
    // Nothing but the signal ends it.
  });
}

/**
 * Asks for a token and writes it.
 * @returns when to replace it, in milliseconds since the epoch
 * @throws ApiError, ApiUnreachableError
 */
export async function writeHandlerToken(options: HandlerTokenOptions): Promise<number> {
  const { connection, namespace, folder } = options;
  const { token, expirationTimestamp } = (await request(options)).status;
  const now = Date.now();
  // The token last: who finds it finds the others.
  replaceFile(path.join(folder, "namespace"), namespace);
  replaceFile(path.join(folder, "ca.crt"), connection.certificateAuthority ?? "");
  replaceFile(path.join(folder, "token"), token);
  return now + (Date.parse(expirationTimestamp) - now) * RENEWED_AFTER;
}

async function writeEventually(options: KeepTokenOptions): Promise<number> {
  for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)) {
    options.signal.throwIfAborted();
    try {
      return await writeHandlerToken(options);
    } catch (error) {
      options.onError(error as Error);
    }
    await pause(waitMs, undefined, { signal: options.signal });
  }
}

async function request({ connection, namespace, account }: HandlerTokenOptions): Promise<TokenRequest> {
  const transport = new HttpTransport(connection);
  try {
    const { body } = await transport.send<TokenRequest>({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: LIFETIME_SECONDS },
      },
    });
    return body;
  } finally {
    transport.close();
  }
}

/** By a rename: a reader finds the old content or the new one, never half of it. */
function replaceFile(file: string, content: string | Buffer): void {
  const next = `${file}.next`;
  writeFileSync(next, content, { mode: FILE_MODE });
  // A umask may have taken bits away.
  chmodSync(next, FILE_MODE);
  renameSync(next, file);
}
