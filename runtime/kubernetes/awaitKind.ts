import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesClient } from "./client";
import { discover } from "./discovery";
import type { Resource } from "./resource";

/** How long {@link awaitKind} waits, and whom it tells. */
export interface AwaitKindOptions {
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Told why it waits: once for each reason, not for each try. */
  readonly onWait: (reason: Error) => void;
}

/** Somebody is just creating the kind, more often than not: the first tries come quickly. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 10_000;
const WAIT_GROWTH = 1.2;

/**
 * As {@link discover}, for a kind that may come later, from an API server that may be away: asks again until there is
 * an answer.
 * @throws AbortError on the signal
 */
export async function awaitKind(
  client: KubernetesClient,
  apiVersion: string,
  kind: string,
  { signal, onWait }: AwaitKindOptions,
): Promise<Resource> {
  let told = "";
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * WAIT_GROWTH, LONGEST_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      return await discover(client, apiVersion, kind);
    } catch (error) {
      const reason = error as Error;
      if (reason.message !== told) onWait(reason);
      told = reason.message;
    }
    // Spread, so that the replicas of many operators do not ask in step.
    await pause(waitMs * (0.8 + Math.random() * 0.4), undefined, { signal });
  }
}
