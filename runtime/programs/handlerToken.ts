import { chmodSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { rootCertificates } from "node:tls";
import type { ClusterConnection } from "../kubernetes/connection";
import { HttpTransport } from "../kubernetes/transport";

/** Whose token is kept fresh, and where. */
export interface KeepTokenOptions {
  /** The runner's own connection. It may create tokens for this one account. */
  readonly connection: ClusterConnection;
  /** The namespace of the account. */
  readonly namespace: string;
  /** The account's name: {@link handlerAccountOf} the operator. */
  readonly account: string;
  /** The folder of the files. In a pod it is an emptyDir of both containers. */
  readonly folder: string;
  /** The mode of the files. @default the user and the group of the pod may read them: both containers have them */
  readonly mode?: number;
  /** Called with the token when its files exist, the first time and after each renewal. */
  readonly onWritten?: (token: string) => void;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Called with each failure, before the next try. */
  readonly onError: (error: Error) => void;
  /** How often to look whether it is time, in milliseconds. @default 30000 */
  readonly lookMs?: number;
}

const LOOK_MS = 30_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
const FILE_MODE = 0o440;

/** The service account of an operator's handler. It exists only if the operator declares `rules`. */
export function handlerAccountOf(operator: string): string {
  return `${operator}-handler`;
}

/**
 * Keeps a token of the handler's account in a folder, with the files and names that a pod's service account has, so that
 * Kubernetes' clients find it by themselves. Resolves when the first one exists; then renews it until the signal.
 * @throws AbortError on the signal
 */
export async function keepHandlerToken(options: KeepTokenOptions): Promise<void> {
  const renewAt = await writeEventually(options);
  void (async () => {
    for (let next = renewAt; ; next = await writeEventually(options)) await comes(next, options);
  })().catch(() => {
    // Only the signal ends it.
  });
}

/**
 * Asks for a token and writes it.
 * @returns when to replace it, in milliseconds since the epoch
 * @throws ApiError, ApiUnreachableError
 */
export async function writeHandlerToken(options: KeepTokenOptions): Promise<number> {
  const { connection, namespace, account, folder, mode = FILE_MODE, onWritten } = options;
  const { text, renewAt } = await requestToken({ namespace, name: account }, connection);
  // The token is written last, so a reader that finds it finds the other files too.
  replaceFile(path.join(folder, "namespace"), namespace, mode);
  // Without one of its own, a connection trusts the authorities of Node.
  const authority = connection.certificateAuthority ?? `${rootCertificates.join("\n")}\n`;
  replaceFile(path.join(folder, "ca.crt"), authority, mode);
  replaceFile(path.join(folder, "token"), text, mode);
  onWritten?.(text);
  return renewAt;
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

/**
 * Resolves at an instant, in milliseconds since the epoch, by the clock or after that time, whatever is first: timers stand still
 * while a machine sleeps, and a clock may be set back.
 * @throws AbortError on the signal
 */
async function comes(instant: number, { signal, lookMs = LOOK_MS }: KeepTokenOptions): Promise<void> {
  const until = performance.now() + Math.max(FIRST_RETRY_MS, instant - Date.now());
  do {
    const left = Math.max(0, until - performance.now());
    await pause(Math.min(lookMs, left), undefined, { signal, ref: false });
  } while (Date.now() < instant && performance.now() < until);
}

/** Writes a new file and renames it. A reader finds the old content or the new content, never a part of it. */
export function replaceFile(file: string, content: string | Buffer, mode: number): void {
  const next = `${file}.next`;
  // A killed process may have left its file, which is read-only.
  rmSync(next, { force: true });
  writeFileSync(next, content, { mode });
  // A umask may have taken bits away.
  chmodSync(next, mode);
  renameSync(next, file);
}

/** The name of a service account. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** A bearer token of a service account. */
export interface ServiceAccountToken {
  readonly text: string;
  /** When to ask for the next one, by our clock, in milliseconds since the epoch. */
  readonly renewAt: number;
}

/**
 * The answer of the TokenRequest API. Its `spec` says how long the token holds (kubernetes,
 * pkg/registry/core/serviceaccount/storage/token.go).
 */
interface TokenRequest {
  readonly spec: { readonly expirationSeconds: number };
  readonly status: { readonly token: string };
}

/** How long a token should hold, in seconds. The API server may choose another time. */
const LIFETIME_SECONDS = 3_600;
/** A token is replaced after this part of its time, as the kubelet does too. */
const RENEWED_AFTER = 0.8;

/**
 * Asks the API server for a token of a service account.
 * @param connection credentials that may create tokens for the account
 * @throws ApiError, ApiUnreachableError
 */
export async function requestToken(
  { namespace, name }: ServiceAccount,
  connection: ClusterConnection,
): Promise<ServiceAccountToken> {
  const transport = new HttpTransport(connection);
  try {
    const { body } = await transport.send<TokenRequest>({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: LIFETIME_SECONDS },
      },
    });
    const { spec, status } = body;
    // Not the instant of its end: that is by the API server's clock, and ours may show another time.
    const lifetimeMs = spec.expirationSeconds * 1000;
    return { text: status.token, renewAt: Date.now() + lifetimeMs * RENEWED_AFTER };
  } finally {
    transport.close();
  }
}
