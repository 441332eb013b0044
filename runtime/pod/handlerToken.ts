import { chmodSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { rootCertificates } from "node:tls";
import type { ClusterConnection } from "../kubernetes/connection";
import { requestToken } from "../kubernetes/tokenRequest";

/** Whose token is kept where. */
export interface HandlerTokenOptions {
  /** The runner's own connection: it may create tokens for that one account. */
  readonly connection: ClusterConnection;
  /** The namespace of the account. */
  readonly namespace: string;
  /** The account's name: {@link handlerAccountOf} the operator. */
  readonly account: string;
  /** Where the files go: in a pod an emptyDir that both containers have. */
  readonly folder: string;
  /** Who may read the files. @default the user and the group of the pod: both containers have them */
  readonly mode?: number;
  /** Called with the token when its files are there, the first time and after each renewal. */
  readonly onWritten?: (token: string) => void;
}

/** How a token is kept fresh. */
export interface KeepTokenOptions extends HandlerTokenOptions {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Called with each failure, before the next try. */
  readonly onError: (error: Error) => void;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
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
  const { connection, namespace, account, folder, mode = FILE_MODE, onWritten } = options;
  const { text, renewAt } = await requestToken({ namespace, name: account }, connection);
  // The token is written last. A reader that finds it finds the other files too.
  replaceFile(path.join(folder, "namespace"), namespace, mode);
  replaceFile(path.join(folder, "ca.crt"), authorityOf(connection), mode);
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

/** A connection without an authority of its own trusts those of Node. A pod's has its own. */
function authorityOf({ certificateAuthority }: ClusterConnection): string | Buffer {
  return certificateAuthority ?? `${rootCertificates.join("\n")}\n`;
}

/** Renames a new file: a reader finds the old content or the new one, never a part of one. */
export function replaceFile(file: string, content: string | Buffer, mode: number): void {
  const next = `${file}.next`;
  // The one of a process that was killed may be left, and nobody may write to it.
  rmSync(next, { force: true });
  writeFileSync(next, content, { mode });
  // A umask may have taken bits away.
  chmodSync(next, mode);
  renameSync(next, file);
}
