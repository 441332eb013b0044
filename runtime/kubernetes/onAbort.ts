/** What each signal calls. */
const calls = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `end` when the signal is aborted. A signal compares each new listener with all that it has, so thousands of requests that
 * listened to the signal of one term would take most of their time for that. Here they are one listener.
 * @returns takes the call back
 */
export function onAbort(signal: AbortSignal, end: () => void): () => void {
  const ends = calls.get(signal) ?? listenTo(signal);
  ends.add(end);
  return () => void ends.delete(end);
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const ends = new Set<() => void>();
  calls.set(signal, ends);
  signal.addEventListener("abort", () => {
    for (const end of ends) end();
  });
  return ends;
}
