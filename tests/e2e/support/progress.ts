import { formatDuration } from "../../../cli/common/terminal";
import { eventually } from "../../support/eventually";

const FIRST_MS = 2_000;
const NEXT_MS = 10_000;
const LONGEST_LINE = 110;

/** For what needs a `pulumi up` or two: minutes where others use the machine. */
export const LONG_MS = 1_800_000;

/** A line of progress on standard error. */
export function tell(line: string): void {
  const cut = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
  process.stderr.write(`      ${cut}\n`);
}

/**
 * Repeats an assertion until it holds, telling what it waits for.
 * @param what completes "waiting for"
 * @param timeoutMs generous: it is only waited for in full when something is wrong
 * @throws Error with the assertion's last failure
 */
export async function waitFor<Result>(
  what: string,
  assertion: () => Result | Promise<Result>,
  timeoutMs = 90_000,
): Promise<Result> {
  const startedAt = performance.now();
  const say = (): void => tell(`waiting for ${what} (${formatDuration(performance.now() - startedAt)})`);
  let timer = setTimeout(function again() {
    say();
    timer = setTimeout(again, NEXT_MS);
  }, FIRST_MS);
  try {
    return await eventually(assertion, { timeoutMs });
  } finally {
    clearTimeout(timer);
  }
}

/** Takes the output of a long command and tells its newest line, not more often than every two seconds. */
export function lastLineTeller(prefix: string): (output: string) => void {
  let toldAt = 0;
  return (output) => {
    const line = output
      .split("\n")
      .map((each) => each.trim())
      .findLast((each) => /^[+~-]+ .*:/.test(each));
    if (!line || performance.now() - toldAt < FIRST_MS) return;
    toldAt = performance.now();
    tell(`${prefix}: ${line.replaceAll(/ +/g, " ")}`);
  };
}
