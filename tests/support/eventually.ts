import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../../cli/common/until";

/** The limits of tests, and of what they wait for, are those of an idle machine. A busy one gets this many times more. */
export const SLOWER = 3;

const POLL_MS = 50;
const FIRST_POLL_MS = 5;

/** How long {@link eventually} waits. */
export interface Patience {
  /** On an idle machine. The whole time passes only when something is wrong. @default 80 s, within mocha's limit of a test */
  readonly timeoutMs?: number;
  /** @default 50 */
  readonly pollMs?: number;
  /** The first pause, if the first ones are shorter. @default `pollMs` */
  readonly firstPollMs?: number;
}

/**
 * Repeats an assertion until it holds, and gives what it returned.
 * @throws Error with the assertion's last failure
 */
export async function eventually<Result>(
  assertion: () => Result | Promise<Result>,
  { timeoutMs = 80_000, pollMs = POLL_MS, firstPollMs = pollMs }: Patience = {},
): Promise<Result> {
  let failure: unknown;
  const attempt = async () => {
    try {
      return { result: await assertion() };
    } catch (error) {
      failure = error;
      return undefined;
    }
  };
  const what = () => (failure instanceof Error ? failure.message : String(failure));
  try {
    return (await until(attempt, { what, deadlineMs: timeoutMs * SLOWER, pollMs, firstPollMs })).result;
  } catch (error) {
    throw new Error((error as Error).message, { cause: failure });
  }
}

/**
 * Does the same for what mostly comes at once, and is cheap to look at: the first pauses are short. A test that waits for many such
 * things would otherwise spend its time in pauses.
 */
export function soon<Result>(assertion: () => Result | Promise<Result>): Promise<Result> {
  return eventually(assertion, { firstPollMs: FIRST_POLL_MS });
}

/** Repeats an assertion for a while, and throws as soon as it does not hold: for what must not happen. */
export async function always(
  assertion: () => unknown | Promise<unknown>,
  { forMs = 1_000, pollMs = POLL_MS } = {},
): Promise<void> {
  const end = performance.now() + forMs;
  do {
    await assertion();
    await sleep(pollMs);
  } while (performance.now() < end);
}

/**
 * Tries something again from its beginning, for what a machine does too late that is busy for a moment.
 * @param attempt given which attempt it is, from 1
 * @returns what the first attempt gave that went well
 * @throws what the last one threw
 */
export async function inOneOf<Result>(
  times: number,
  attempt: (time: number) => Promise<Result>,
): Promise<Result> {
  for (let time = 1; ; time++) {
    try {
      return await attempt(time);
    } catch (error) {
      if (time === times) throw error;
    }
  }
}

/** Until it is a second later, as the API server tells times. */
export async function aSecond(): Promise<void> {
  await sleep(1_100);
}

/**
 * Repeats an action until some work is done.
 * @param repeated pauses by itself
 * @returns the result of the work
 */
export async function whileRepeating<Result>(
  repeated: (time: number) => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  let over = false;
  const doing = (async () => {
    for (let time = 1; !over; time++) await repeated(time);
  })();
  try {
    return await work();
  } finally {
    over = true;
    await doing;
  }
}
