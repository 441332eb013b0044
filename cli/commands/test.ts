import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { checkCommand } from "../../definition/commandOnPath";
import { conversionNote, storedSchemaOf } from "../../definition/customResourceDefinition";
import { displayPath, OperatorError, Problems } from "../../definition/problems";
import { uncheckedRules } from "../../definition/uncheckedRules";
import { kindKey } from "../../runtime/base/resource";
import { type Operator, resourceOf } from "../../runtime/cli";
import { CommandError, complaintOfSystem, EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { untilAborted } from "../common/interruption";
import { flag, jsonOption, option, stackOperatorsOptions, type ValuesOf } from "../common/options";
import { loadChosen } from "../common/project";
import { indent, print, progress, type Style, styleFor } from "../common/terminal";
import { FolderWatch } from "../dev/folderWatch";
import { fixtureCrdsOf } from "../fixtures/definitions";
import { type Fixtures, readAll } from "../fixtures/fixture";
import type { FixtureServer } from "../fixtures/fixtureServer";
import { junitOf, type OperatorResults } from "../fixtures/junit";
import { FIXTURE_RESULT, type FixtureResult, runFixtures } from "../fixtures/runFixtures";
import { updateFixtures } from "../fixtures/update";
import { formatLog } from "../local/reconcileLine";
import { type OperatorSource, operatorSource } from "../render/stackOperators";

const RESULT = z.strictObject({
  operator: z.string(),
  ...FIXTURE_RESULT.shape,
  written: z.literal(true).optional().describe("With --update: the answer was written into the fixture."),
});

const OPTIONS = [
  flag("--watch", "run the fixtures again after each edit in handlers/, until Ctrl-C"),
  flag("--update", "write the answers into the fixtures that expect something else or nothing"),
  flag(
    "--server",
    "let a control plane that the command starts decide about objects, statuses and children, with the CRDs in fixtures/crds/",
  ),
  option("--junit <file>", "write the results into a file in JUnit's XML, for continuous integration"),
  ...stackOperatorsOptions(),
  jsonOption(RESULT, "print a line of JSON for each fixture"),
];

/** The options of {@link test}. */
export type TestOptions = ValuesOf<typeof OPTIONS>;

export default command({
  description:
    "Runs the fixtures of the operators: each handler gets the requests of its fixtures, and must return the expected " +
    "answers. No cluster is needed. With --server, a control plane on this machine says what it would refuse.",
  arguments: [["[operators...]", "only these operators (default: all)"]],
  options: OPTIONS,
  run: (names, options) => test(names, options),
});

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
  let started: Promise<FixtureServer> | undefined;
  const server = () => {
    // All that a control plane needs is loaded only here.
    const file = require("../fixtures/fixtureServer.ts") as typeof import("../fixtures/fixtureServer");
    started ??= file.FixtureServer.start(signal);
    return started;
  };
  const run = () => runAll(source, names, options, options.server && server);
  try {
    return await (options.watch ? watched(source.folders, signal, run) : run());
  } finally {
    await (await started?.catch(() => undefined))?.close();
  }
}

async function runAll(
  source: OperatorSource,
  names: readonly string[],
  options: TestOptions,
  start: (() => Promise<FixtureServer>) | undefined,
): Promise<number> {
  const operators = loadChosen(source, names);
  for (const operator of operators) checkCommand(operator);
  const fixtures = fixturesOf(operators, options);
  const server = await start?.();
  await server?.install(withChildren(operators, source));
  const style = styleFor(process.stdout);
  const all: OperatorResults[] = [];
  let [passed, failed] = [0, 0];
  let shown: string | undefined;
  // Each operator has a process of its own. The results are printed in the operators' order nevertheless.
  const running = operators.map((operator, index) => runFixtures(operator, fixtures[index], server));
  // While one of them runs, Ctrl-C has to end its handler. So none is left alone.
  await Promise.allSettled(running);
  for (const [index, operator] of operators.entries()) {
    const results = (await running[index]) ?? [];
    if (results.length === 0) progress(noFixtures(operator));
    else for (const note of notesOn(operator, options)) progress(note);
    for (const line of new Set(results.flatMap(({ unchecked = [] }) => unchecked)))
      progress(`${operator.name}: not checked: ${line}`);
    const updates = options.update ? updateFixtures(operator.folder, results) : undefined;
    for (const refusal of updates?.refusals ?? []) progress(refusal);
    const settled = results.map((each) =>
      updates?.written.includes(each.name) ? { ...each, passed: true } : each,
    );
    all.push({ operator: operator.name, folder: path.relative("", operator.folder), results: settled });
    for (const result of results) {
      const isWritten = updates?.written.includes(result.name) ?? false;
      if (result.passed || isWritten) passed += 1;
      else failed += 1;
      if (options.json) {
        const { place: _, expectation: __, ...told } = result;
        options.json({ operator: operator.name, ...told, written: isWritten || undefined });
        continue;
      }
      print(formatted(operator, result, isWritten, style));
      // Each step of a fixture mostly fails in the same way.
      if (!isWritten && result.log !== undefined && result.log !== shown)
        print(formatLog(result.log, style, "    "));
      shown = result.log;
    }
  }
  if (options.junit !== undefined) writeReport(options.junit, junitOf(all));
  if (!options.json) print(`${passed} passed, ${failed} failed`);
  return failed === 0 ? EXIT_CODES.fine : EXIT_CODES.failed;
}

/** @throws CommandError if the file cannot be written */
function writeReport(file: string, report: string): void {
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, report);
  } catch (error) {
    const reason = complaintOfSystem(error) ?? (error as Error).message;
    throw new CommandError(`--junit ${file} cannot be written: ${reason}. Name another file.`);
  }
}

/** The operators, and those others whose objects are children of them. */
function withChildren(operators: readonly Operator[], source: OperatorSource): readonly Operator[] {
  const kinds = new Set(operators.flatMap(({ children }) => children.map(kindKey)));
  const others = source
    .loadInOrder()
    .operators.filter(({ customResource }) => kinds.has(kindKey(resourceOf(customResource))))
    .filter(({ name }) => operators.every((operator) => operator.name !== name));
  return [...operators, ...others];
}

/** What the fixtures of an operator do not show, because only an API server knows it. */
function notesOn(operator: Operator, { server }: TestOptions): string[] {
  const unchecked = server ? undefined : uncheckedRules(storedSchemaOf(operator) ?? {});
  const note =
    unchecked &&
    `${operator.name}: only an API server checks ${unchecked} of its CRD, and no fixture fails for them. argosy test --server ` +
      "asks one.";
  return [note, conversionNote(operator)].filter((each) => each !== undefined);
}

function noFixtures({ name, folder }: Operator): string {
  const place = displayPath(path.join(folder, "fixtures"));
  return `${name}: it has no fixtures. Write one into ${place}, or let argosy record write a live object there.`;
}

/** The fixtures of each operator. With `--server`, its CRDs are read too. @throws OperatorError with the mistakes in all of them, before any handler is asked */
function fixturesOf(operators: readonly Operator[], { server }: TestOptions): Fixtures[] {
  const problems = new Problems();
  const fixtures = operators.flatMap((operator) => {
    try {
      if (server) fixtureCrdsOf(operator.folder);
      return [readAll(operator.folder, operator)];
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      problems.add(error);
      return [];
    }
  });
  if (problems.found) throw problems.toError();
  return fixtures;
}

/** A line for a fixture. If the fixture failed, a line for each field that differs follows. */
function formatted(
  { name: operator }: Operator,
  result: FixtureResult,
  isWritten: boolean,
  style: Style,
): string {
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
  let isFirst = true;
  const turn = () => {
    tail = tail
      .then(async () => {
        await run();
      })
      .catch((error: unknown) => {
        // An operator that is named may be gone for a while, as when another branch is checked out.
        const isGone = error instanceof UsageError && !isFirst;
        if (!(error instanceof OperatorError || isGone)) throw error;
        progress(error.message);
      })
      .finally(() => {
        isFirst = false;
      })
      .then(() => progress("waiting for an edit (press Ctrl-C to stop)"));
    return tail;
  };
  const watches: FolderWatch[] = [];
  try {
    return await untilAborted(signal, (fail) => {
      const runAgain = () => void turn().catch(fail);
      for (const folder of folders)
        watches.push(new FolderWatch(folder, runAgain, { onBlind: progress, but: ["fixtures"] }));
      runAgain();
    });
  } finally {
    for (const watch of watches) watch.close();
  }
}
