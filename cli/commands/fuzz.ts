import { randomInt } from "node:crypto";
import path from "node:path";
import { z } from "zod";
import { checkCommand } from "../../definition/commandOnPath";
import { displayPath } from "../../definition/problems";
import type { Operator } from "../../runtime/cli";
import { asTyped } from "../common/asTyped";
import { EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import {
  flag,
  jsonOption,
  optionWithDefault,
  positiveInteger,
  stackOperatorsOptions,
  type ValuesOf,
  wholeNumber,
} from "../common/options";
import { loadChosen } from "../common/project";
import { formatDuration, indent, print, progress, type Style, styleFor } from "../common/terminal";
import { yaml } from "../common/yaml";
import { writeCounterexample } from "../fuzz/counterexample";
import { type Count, type Outcome, search } from "../fuzz/search";
import { RULES } from "../fuzz/violation";
import { handlerEnvironment } from "../handler/handlerEnvironment";
import { operatorSource } from "../render/stackOperators";

const number = <Flags extends string>(flags: Flags, what: string, parse: (text: string) => number) =>
  optionWithDefault<Flags, number | undefined>(flags, what, undefined, parse);

const RESULT = z.strictObject({
  operator: z.string(),
  passed: z.boolean(),
  seed: z.number().describe("With it, the same is found again."),
  cases: z.number().describe("Cases that were run."),
  refused: z.number().describe("Cases with an object that the CRD's schema refuses."),
  answers: z.number().describe("Questions that were answered."),
  known: z.array(z.string()).readonly().describe("Fields with the values of the fixtures alone."),
  rule: z.string().optional().describe("The rule that the handler breaks, in one word."),
  differences: z
    .array(z.string())
    .readonly()
    .optional()
    .describe("What was expected, and what was seen, a line each."),
  fixture: z.string().optional().describe("The fixture that was written, in the operator's folder."),
});

const OPTIONS = [
  number("--seed <number>", "find the same again (default: another one each time)", wholeNumber),
  number("--runs <number>", "the most cases for each operator", positiveInteger),
  number(
    "--seconds <number>",
    "the most time for each operator (default: 60, or no end with --runs)",
    positiveInteger,
  ),
  flag("--acts-outside", "also ask handlers with rules or secretEnv, though they may act outside Kubernetes"),
  ...stackOperatorsOptions(),
  jsonOption(RESULT, "print a line of JSON for each operator"),
];

/** The options of {@link fuzz}. */
export type FuzzOptions = ValuesOf<typeof OPTIONS>;

export default command({
  description:
    "Looks for a bug in handlers: asks them about objects that their CRD's schema admits, changes these, and kills, refuses and " +
    "deletes in between. A bug becomes a fixture, which argosy test runs. No cluster is needed. The exit code is 1 if one is found.",
  arguments: [["[operators...]", "only these operators (default: all)"]],
  options: OPTIONS,
  run: (names, options) => fuzz(names, options),
});

/** No seed of the generator is larger. */
const SEEDS = 2 ** 31;
const DEFAULT_SECONDS = 60;
/** How often the progress is printed, in milliseconds. */
const TOLD_EVERY_MS = 2_000;

/**
 * `argosy fuzz`: looks for bugs in the handlers of operators.
 *
 * @returns the exit code: 1 if a bug was found
 * @throws UsageError for an operator that does not exist, or that would act outside; OperatorError if an operator has a mistake
 */
async function fuzz(names: readonly string[], options: FuzzOptions): Promise<number> {
  const source = await operatorSource(options);
  const operators = chosen(loadChosen(source, names), names, options);
  const { seed = randomInt(SEEDS), runs = Number.MAX_SAFE_INTEGER } = options;
  const { seconds = options.runs === undefined ? DEFAULT_SECONDS : undefined } = options;
  const style = styleFor(process.stdout);
  let isFound = false;
  for (const operator of operators) {
    const count: Count = { cases: 0, refused: 0, answers: 0 };
    const began = performance.now();
    const tell = () => {
      const spent = formatDuration(performance.now() - began);
      progress(`${operator.name}: ${count.cases} cases, ${count.answers} answers, ${spent}`);
    };
    const timer = setInterval(tell, TOLD_EVERY_MS);
    const env = options.actsOutside ? handlerEnvironment(operator) : operator.env;
    const budget = { seed, runs, ms: seconds === undefined ? SEEDS - 1 : seconds * 1_000 };
    const outcome = await search({ ...operator, env }, budget, count).finally(() => clearInterval(timer));
    isFound ||= outcome.violation !== undefined;
    tellOf(operator, outcome, seed, options, style);
  }
  return isFound ? EXIT_CODES.failed : EXIT_CODES.fine;
}

/** The operators whose handlers may be asked. @throws UsageError if one is named that may not */
function chosen(
  operators: readonly Operator[],
  names: readonly string[],
  { actsOutside }: FuzzOptions,
): readonly Operator[] {
  for (const operator of operators) checkCommand(operator);
  if (actsOutside) return operators;
  const acting = operators.filter(
    ({ rules, secretEnv }) => rules.length > 0 || Object.keys(secretEnv).length > 0,
  );
  const why = (name: string) =>
    `${name}: its rules or secretEnv let its handler act outside, for objects that do not exist. With --acts-outside it is asked nevertheless.`;
  const [named] = acting.filter(({ name }) => names.includes(name));
  if (named) throw new UsageError(why(named.name));
  for (const { name } of acting) progress(why(name));
  return operators.filter((operator) => !acting.includes(operator));
}

function tellOf(
  operator: Operator,
  outcome: Outcome,
  seed: number,
  options: FuzzOptions,
  style: Style,
): void {
  const { json } = options;
  const { violation, counterexample, cases, refused, answers, known } = outcome;
  const { name, folder } = operator;
  const file = violation && counterexample && writeCounterexample(counterexample, violation, operator, seed);
  if (json) {
    const found = violation && { rule: violation.rule, differences: violation.differences };
    const place = file && path.relative(folder, file);
    const counted = { seed, cases, refused, answers, known };
    return json({ operator: name, passed: !violation, ...counted, ...found, fixture: place });
  }
  if (known.length > 0)
    progress(
      `${name}: only with the values of the fixtures, since only an API server knows others: ${known.join(", ")}`,
    );
  if (refused > cases)
    progress(
      `${name}: the CRD's schema refused ${refused} of ${cases + refused} cases. More fixtures give better values.`,
    );
  const counts = `${cases} cases, ${answers} answers, seed ${seed}`;
  if (!violation) return print(`${style("green", "✔")} ${name}  ${counts}`);
  const { rule, differences, evidence } = violation;
  const detail = evidence.detail === undefined ? "" : ` (${evidence.detail})`;
  print(`${style("red", "✘")} ${name}  ${counts}\n  broken: ${RULES[rule]}${detail}`);
  print(indent(differences.join("\n"), "    "));
  if (counterexample)
    print(
      indent(
        counterexample
          .map((document) => yaml(document))
          .join("---\n")
          .trimEnd(),
        "    ",
      ),
    );
  const again = asTyped(`fuzz ${name} --seed ${seed}`, options);
  if (file)
    print(
      `  written: ${displayPath(file)}. It fails until the handler is mended: ${asTyped(`test ${name}`, options)}`,
    );
  else print(`  no fixture shows it. To see it again: ${again}`);
}
