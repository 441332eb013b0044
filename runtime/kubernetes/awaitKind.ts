import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesClient } from "./client";
import { discover } from "./discovery";
import type { Resource } from "./resource";

/** What ends the wait of {@link awaitKind}, and the callbacks that it calls. */
export interface AwaitKindOptions {
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Called with the reason for the wait: once for each reason, not for each try. */
  readonly onWait: (reason: Error) => void;
  /** Called after each try that failed, before {@link onWait}. */
  readonly onFailure?: (error: Error) => Promise<void>;
}

/** Usually somebody is just creating the kind, so the first tries follow each other quickly. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 10_000;
const WAIT_GROWTH = 1.2;

/**
 * The same as {@link discover}, for a kind that may come later, from an API server that may be away. Asks again until there is an
 * answer.
 * @throws AbortError on the signal
 */
export async function awaitKind(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
  { signal, onWait, onFailure }: AwaitKindOptions,
): Promise<Resource> {
  let reported = "";
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * WAIT_GROWTH, LONGEST_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      return await discover(client, apiVersion, kind);
    } catch (error) {
      const reason = error as Error;
      await onFailure?.(reason);
      if (reason.message !== reported) onWait(reason);
      reported = reason.message;
    }
    // The wait is random, so that the replicas of many operators do not ask at the same time.
    await pause(waitMs * (0.8 + Math.random() * 0.4), undefined, { signal });
  }
}
