import { setTimeout as pause } from "node:timers/promises";
import type { ClusterConnection } from "../../runtime/kubernetes/connection";
import { CommandError } from "../commandError";
import { awaitAnswer } from "../openCluster";

/** The options of {@link lost}. */
export interface LostOptions {
  readonly signal: AbortSignal;
  /** The pause between two requests, in milliseconds. @default 2000 */
  readonly everyMs?: number;
  /** After how long without an answer the control plane counts as lost, in milliseconds. @default 15000 */
  readonly silentMs?: number;
}

/**
 * Waits until the embedded control plane no longer answers. Nothing starts it again: without this, the command would wait forever.
 * @returns when the signal aborts
 * @throws CommandError when it has not answered for a while
 */
export async function lost(
  connection: ClusterConnection,
  { signal, everyMs = 2_000, silentMs = 15_000 }: LostOptions,
): Promise<void> {
  let answeredAt = performance.now();
  while (!signal.aborted) {
    try {
      await awaitAnswer(connection);
      answeredAt = performance.now();
    } catch (error) {
      if (performance.now() - answeredAt > silentMs) {
        throw new CommandError(
          `The control plane is gone: ${(error as Error).message}. Start argosy dev again. Without --keep, the objects are lost.`,
          1,
          { cause: error },
        );
      }
    }
    await pause(everyMs, undefined, { signal }).catch(() => {});
  }
}
