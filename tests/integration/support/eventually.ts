import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 50;

/**
 * Repeats an assertion until it holds, and gives what it returned.
 * @param timeoutMs generous: it is only waited for in full when something is wrong
 * @throws Error with the assertion's last failure
 */
export async function eventually<Result>(
  assertion: () => Result | Promise<Result>,
  { timeoutMs = 30_000 } = {},
): Promise<Result> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (performance.now() > deadline) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`still not so after ${timeoutMs / 1000} s: ${reason}`, { cause: error });
      }
    }
    await sleep(POLL_MS);
  }
}

/** Repeats an assertion for a while, and throws as soon as it does not hold: for what must not happen. */
export async function always(
  assertion: () => unknown | Promise<unknown>,
  { forMs = 1_000 } = {},
): Promise<void> {
  const end = performance.now() + forMs;
  do {
    await assertion();
    await sleep(POLL_MS);
  } while (performance.now() < end);
}

/** Until it is a second later, as the API server tells times. */
export async function aSecond(): Promise<void> {
  await sleep(1_100);
}

/**
 * Does something again and again while something else is done.
 * @param often pauses by itself
 * @returns what the other thing gave
 */
export async function meanwhile<Result>(
  often: (time: number) => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  let over = false;
  const doing = (async () => {
    for (let time = 1; !over; time++) await often(time);
  })();
  try {
    return await work();
  } finally {
    over = true;
    await doing;
  }
}
