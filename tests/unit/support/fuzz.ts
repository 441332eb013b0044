import { readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";

/** How many inputs each property is tried on: ARGOSY_FUZZ_RUNS for depth, few enough in `npm test` to take no time. */
const RUNS = Number(process.env.ARGOSY_FUZZ_RUNS ?? 200);

/** Inputs that once broke something, by the title of their property: each is tried first, for ever. */
const KEPT = JSON.parse(
  readFileSync(path.join(__dirname, "../fuzz/counterexamples.json"), "utf8"),
) as Readonly<Record<string, readonly unknown[]>>;

/** How a property is tried. */
export interface FuzzOptions {
  /** How many times dearer it is than a call of a function: it is tried on that many fewer inputs. @default 1 */
  readonly cost?: number;
}

/**
 * A test that a property holds for whatever input. Its input must be what JSON can carry, so that one that breaks it
 * can be kept: in `tests/unit/fuzz/counterexamples.json`, under the title, as the failure prints it.
 */
export function fuzz<Input>(
  title: string,
  input: fc.Arbitrary<Input>,
  holds: (input: Input) => void | Promise<void>,
  { cost = 1 }: FuzzOptions = {},
): void {
  it(title, async function () {
    if (process.env.ARGOSY_FUZZ_RUNS) this.timeout(0);
    await fc.assert(
      fc.asyncProperty(input, async (value) => holds(value)),
      {
        numRuns: Math.max(1, Math.ceil(RUNS / cost)),
        examples: (KEPT[title] ?? []).map((value): [Input] => [value as Input]),
        reporter: (details) => report(title, details),
      },
    );
  });
}

/** The titles under which something is kept: each must be that of a property. */
export const KEPT_TITLES = Object.keys(KEPT);

function report<Input>(title: string, details: fc.RunDetails<[Input]>): void {
  if (!details.failed) return;
  const [counterexample] = details.counterexample ?? [];
  const kept = JSON.stringify({ [title]: [counterexample] });
  throw new Error(
    `${fc.defaultReportMessage(details)}\n\nTo keep it, in tests/unit/fuzz/counterexamples.json:\n${kept}`,
    { cause: details.errorInstance },
  );
}
