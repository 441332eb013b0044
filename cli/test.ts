import { checkCommand } from "../definition/commandOnPath";
import { OperatorError } from "../definition/problems";
import type { Operator } from "../runtime/definition/definition";
import { EXIT_CODES } from "./commandError";
import { FolderWatch } from "./dev/folderWatch";
import { type FixtureResult, runFixtures } from "./fixtures";
import { updateFixtures } from "./fixtures/update";
import { loadChosen } from "./project";
import { type OperatorSource, type OperatorsOptions, operatorSource } from "./render/stackOperators";
import { indent, print, progress, type Style, styleFor } from "./terminal";

/** @see test */
export interface TestOptions extends OperatorsOptions {
  readonly json?: true;
  /** Run the fixtures again after each edit, until the signal aborts. */
  readonly watch?: true;
  /** Write the answers as the expectations, except for answers that change each time. */
  readonly update?: true;
}

/**
 * `argosy test`: runs the fixtures of operators.
 *
 * @param names only these operators. All if there are none
 * @returns the exit code: 1 if a handler's answer differs from its fixture
 * @throws UsageError for an operator that does not exist; OperatorError if an operator has a mistake; the signal's reason with
 *   --watch
 */
export async function test(
  names: readonly string[],
  options: TestOptions,
  signal: AbortSignal = new AbortController().signal,
): Promise<number> {
  const source = await operatorSource(options);
  if (!options.watch) return runAll(source, names, options);
  return watched(source.folders, signal, () => runAll(source, names, options));
}

async function runAll(
  source: OperatorSource,
  names: readonly string[],
  options: TestOptions,
): Promise<number> {
  const operators = loadChosen(source, names);
  for (const operator of operators) checkCommand(operator);
  const style = styleFor(process.stdout);
  let [passed, failed] = [0, 0];
  // Each operator has a process of its own. The results are printed in the operators' order nevertheless.
  const running = operators.map(async (operator) => ({ operator, results: await runFixtures(operator) }));
  for (const { operator, results } of await Promise.all(running)) {
    if (results.length === 0) progress(`${operator.name}: it has no fixtures in ${operator.name}/fixtures/`);
    // An answer that changes each time would not be the expected one again.
    const writable = options.update ? results.filter(({ repeatable }) => repeatable !== false) : [];
    const written = new Set(updateFixtures(operator.folder, writable));
    for (const result of results) {
      if (result.passed || written.has(result.name)) passed += 1;
      else failed += 1;
      print(formatted(operator, result, written.has(result.name), options, style));
    }
  }
  if (!options.json) print(`${passed} passed, ${failed} failed`);
  return failed === 0 ? EXIT_CODES.fine : EXIT_CODES.failed;
}

/** A line for a fixture. If the fixture failed, a line for each field that differs follows. */
function formatted(
  { name: operator }: Operator,
  result: FixtureResult,
  isWritten: boolean,
  { json }: TestOptions,
  style: Style,
): string {
  const { place: _, ...told } = result;
  if (json) return JSON.stringify({ operator, ...told, ...(isWritten && { written: true }) });
  const { name, passed, differences, failure } = result;
  if (passed) return `${style("green", "✔")} ${operator} ${name}`;
  if (isWritten) return `${style("yellow", "✎")} ${operator} ${name}: the answer is written into it`;
  const lines =
    failure === undefined ? differences.map((line) => `${name}: ${line}`) : [`failed:`, indent(failure)];
  return `${style("red", "✘")} ${operator} ${name}\n${indent(lines.join("\n"), "  ")}`;
}

/** Runs now and after each edit of the folders, until the signal aborts. Mistakes are printed, and an edit can correct them. */
async function watched(
  folders: readonly string[],
  signal: AbortSignal,
  run: () => Promise<number>,
): Promise<never> {
  let tail = Promise.resolve();
  const turn = () => {
    tail = tail
      .then(async () => {
        await run();
      })
      .catch((error: unknown) => {
        if (!(error instanceof OperatorError)) throw error;
        progress(error.message);
      })
      .then(() => progress("waiting for an edit (press Ctrl-C to stop)"));
    return tail;
  };
  const watches: FolderWatch[] = [];
  // A watch of folders alone may not keep the process alive.
  const timer = setInterval(() => {}, 60_000);
  try {
    return await new Promise<never>((_resolve, reject) => {
      const edited = () => void turn().catch(reject);
      for (const folder of folders)
        watches.push(new FolderWatch(folder, edited, { onBlind: progress, but: ["fixtures"] }));
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      void turn().catch(reject);
    });
  } finally {
    clearInterval(timer);
    for (const watch of watches) watch.close();
  }
}
