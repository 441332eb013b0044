import { stringify } from "yaml";
import { checkCommand } from "../definition/commandOnPath";
import { loadOperators } from "../definition/loadOperators";
import type { Operator } from "../runtime/definition/definition";
import { EXIT_CODES, UsageError } from "./commandError";
import { type FixtureResult, runFixtures } from "./fixtures";
import { findHandlers } from "./project";
import { indent, print, progress, type Style, styleFor } from "./terminal";

/** @see test */
export interface TestOptions {
  readonly handlers?: string;
  readonly project?: string;
  readonly json?: true;
}

/**
 * `argosy test`: runs the fixtures of operators.
 *
 * @param names only these operators; all where there are none
 * @returns the exit code: 1 where a handler answers something else than a fixture says
 * @throws UsageError for an operator that is not there; OperatorError where one is not in order
 */
export async function test(names: readonly string[], options: TestOptions): Promise<number> {
  const operators = chosen(loadOperators(findHandlers(options)), names);
  for (const operator of operators) checkCommand(operator);
  const style = styleFor(process.stdout);
  let [passed, failed] = [0, 0];
  for (const operator of operators) {
    const results = await runFixtures(operator);
    if (results.length === 0) progress(`${operator.name}: it has no fixtures in ${operator.name}/fixtures/`);
    for (const result of results) {
      if (result.passed) passed += 1;
      else failed += 1;
      print(
        options.json
          ? JSON.stringify({ operator: operator.name, ...result })
          : formatResult(operator.name, result, style),
      );
    }
  }
  if (!options.json) print(`${passed} passed, ${failed} failed`);
  return failed === 0 ? EXIT_CODES.fine : EXIT_CODES.failed;
}

function chosen(operators: readonly Operator[], names: readonly string[]): readonly Operator[] {
  const known = operators.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`There is no operator ${unknown}. There is: ${known.join(", ")}.`);
  }
  return names.length === 0 ? operators : operators.filter(({ name }) => names.includes(name));
}

/** A line for a fixture that passed; what was expected and what came below that of one that failed. */
function formatResult(operator: string, result: FixtureResult, style: Style): string {
  const { name, passed, expected, actual, failure } = result;
  if (passed) return `${style("green", "✔")} ${operator} ${name}`;
  const came =
    failure === undefined ? `answered:\n${indent(stringify(actual))}` : `failed:\n${indent(failure)}`;
  const lines = `expected:\n${indent(stringify(expected))}\n${came}`;
  return `${style("red", "✘")} ${operator} ${name}\n${indent(lines, "  ")}`;
}
