import { setTimeout as pause } from "node:timers/promises";
import type { ClusterConnection } from "../../runtime/cli";
import { awaitAnswer } from "../cluster/openCluster";
import { CommandError } from "../common/commandError";

/** The pause between two requests. */
const PAUSE_MS = 2_000;

/** After how long without an answer the control plane counts as lost. */
const LOST_AFTER_MS = 15_000;

/**
 * Waits until the embedded control plane no longer answers. Nothing starts it again: without this, the command would wait forever.
 * @returns when the signal aborts
 * @throws CommandError when it has not answered for a while
 */
export async function lost(connection: ClusterConnection, signal: AbortSignal): Promise<void> {
  let answeredAt = performance.now();
  while (!signal.aborted) {
    try {
      await awaitAnswer(connection);
      answeredAt = performance.now();
    } catch (error) {
      if (performance.now() - answeredAt > LOST_AFTER_MS) {
        throw new CommandError(
          `The control plane is gone: ${(error as Error).message}. Start argosy dev again. Without --keep, the objects are lost.`,
          { cause: error },
        );
      }
    }
    await pause(PAUSE_MS, undefined, { signal }).catch(() => {});
  }
}
