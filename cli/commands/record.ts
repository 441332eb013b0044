import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { checkCommand } from "../definition/commandOnPath";
import { loadOperators } from "../definition/loadOperators";
import { displayPath } from "../definition/problems";
import type { Operator } from "../runtime/definition/definition";
import { ReconcileFailure } from "../runtime/failure";
import type { Used } from "../runtime/handler/contract";
import type { KubernetesClient } from "../runtime/kubernetes/client";
import { type KubernetesObject, kindAndName } from "../runtime/kubernetes/objects";
import { asTyped } from "./asTyped";
import { CommandError, EXIT_CODES, UsageError } from "./commandError";
import { deployedAs } from "./diff";
import type { DeployedOperator } from "./diff/deployed";
import { type LiveObjectOptions, liveObject } from "./diff/liveObject";
import type { FixtureResult } from "./fixtures";
import { installedOperators } from "./inspect/installed";
import { withCluster } from "./inspect/session";
import { writeNewFiles } from "./newFiles";
import { referenceTo } from "./objectReference";
import type { ClusterOptions } from "./openCluster";
import { findHandlers, type HandlersOptions } from "./project";
import { type Draft, draft } from "./record/draft";
import { Fakes } from "./record/fakes";
import {
  asked,
  type LiveQuestion,
  liveQuestion,
  secretsAmong,
  secretsOfEnvironment,
} from "./record/question";
import { requestOf } from "./record/recordedRun";
import { rewriteFile } from "./rewriteFile";
import { indent, print, progress, styleFor } from "./terminal";

/** @see record */
export interface RecordOptions extends ClusterOptions, HandlersOptions, LiveObjectOptions {
  /** A recorded run, instead of an object. */
  readonly run?: string;
  /** The file to write. @default fixtures/<name>.yaml in the operator's folder */
  readonly out?: string;
  /** Overwrite an existing file. */
  readonly force?: true;
  readonly json?: true;
}

/** A question for a fixture, and its origin. */
interface Source {
  readonly operator: Operator;
  /** As the cluster knows it. */
  readonly deployed: DeployedOperator;
  readonly question: LiveQuestion;
  readonly fakes: Fakes;
  /** Where the object was found, for the file's first line. */
  readonly from: string;
}

/**
 * `argosy record OBJECT | --run RUN`: writes the question to a handler about a live object, and the handler's answer, as a
 * fixture. The values of Secrets are replaced by fakes before anything is written.
 *
 * @returns the exit code: 1 if the fixture does not pass, because the handler gives no valid answer, or a different answer each
 *   time
 * @throws UsageError, CommandError if there is no such object, or if the file already exists
 */
export async function record(of: string | undefined, options: RecordOptions): Promise<number> {
  if ((of === undefined) === (options.run === undefined))
    throw new UsageError("Name either an object, as KIND/NAME, or a run with --run.");
  const operators = loadOperators(findHandlers(options));
  return withCluster(options, async (client) => {
    const source = await (of === undefined
      ? fromRun(client, options.run ?? "", operators, options)
      : fromObject(client, of, operators, options)
    ).catch((error: unknown) => {
      if (error instanceof ReconcileFailure) throw new CommandError(`${error.message}.`);
      throw error;
    });
    return write(source, options);
  });
}

async function fromObject(
  client: KubernetesClient,
  of: string,
  operators: readonly Operator[],
  options: RecordOptions,
): Promise<Source> {
  const installed = await installedOperators(client);
  const { operator, object } = await liveObject(client, of, operators, installed, options);
  const isGoing = object.metadata.deletionTimestamp !== undefined;
  if (isGoing && !operator.finalize)
    throw new CommandError(
      `${of} is being deleted, and its definition has no finalize, so its handler is not asked.`,
    );
  const deployed = deployedAs(operator, installed, options);
  const question = await liveQuestion(client, deployed, object, isGoing ? "finalize" : "reconcile");
  return sourceOf(client, operator, deployed, question, nameOf(object));
}

async function fromRun(
  client: KubernetesClient,
  run: string,
  operators: readonly Operator[],
  options: RecordOptions,
): Promise<Source> {
  const installed = await installedOperators(client);
  const request = await requestOf(client, run, operators, installed);
  const { operator, object } = request;
  const from = `${nameOf(object)}, which the run ${run} was about`;
  const deployed = deployedAs(operator, installed, options);
  if (request.kind === "trial") {
    const event = object.metadata.deletionTimestamp ? "finalize" : "reconcile";
    const used = request.used as Used;
    const secrets = secretsAmong([...Object.values(used).flat(), object]);
    const question = { event, object, children: [], used, secrets, due: [], notes: [] } as const;
    return sourceOf(client, operator, deployed, question, from);
  }
  progress(
    "A run does not contain the request. The object has not changed since then (the generation is the same). Its status, " +
      "its children and the objects that it uses are recorded in their present state.",
  );
  if (Object.keys(operator.schedules ?? {}).length > 0 && request.due.length === 0)
    progress("The run does not contain the schedules that were due. Add them by hand: due: [{ name, at }].");
  const question = await liveQuestion(client, deployed, object, request.event, request.due);
  return sourceOf(client, operator, deployed, question, from);
}

async function sourceOf(
  client: KubernetesClient,
  operator: Operator,
  deployed: DeployedOperator,
  question: LiveQuestion,
  from: string,
): Promise<Source> {
  const fakes = new Fakes();
  const unread = (name: string) =>
    progress(
      `Secret ${name} of secretEnv does not exist, or this account cannot read it. Before you commit the file, check that it ` +
        "contains no value of this Secret.",
    );
  const secrets = [
    ...question.secrets,
    ...(await secretsOfEnvironment(client, operator, deployed.home, unread)),
  ];
  for (const secret of secrets) fakes.learn(secret);
  for (const note of question.notes) progress(note);
  return { operator, deployed, question, fakes, from };
}

async function write(source: Source, options: RecordOptions): Promise<number> {
  const { operator, question, fakes, from } = source;
  const fixtures = path.join(operator.folder, "fixtures");
  const file = options.out
    ? path.resolve(options.out)
    : path.join(fixtures, `${question.object.metadata.name}.yaml`);
  checkFree(file, options);
  checkCommand(operator);
  const comment = [`Recorded from ${from}.`, ...(fakes.size > 0 ? ["The values of Secrets are fakes."] : [])];
  const made = await draft(
    operator,
    (extent) => fakes.inside(asked(question, extent, operator.watch === undefined)),
    comment,
    (value) => fakes.outside(value),
  );
  const { dir, base } = path.parse(file);
  if (options.force && existsSync(file)) rewriteFile(file, made.text);
  else writeNewFiles(dir, [[base, made.text]]);
  const isRun = path.dirname(file) === fixtures && /\.ya?ml$/.test(file);
  tell(source, made, displayPath(file), isRun, options);
  return made.result.passed ? EXIT_CODES.fine : EXIT_CODES.failed;
}

/** @throws CommandError if a file or folder is in the way */
function checkFree(file: string, { force }: RecordOptions): void {
  if (!existsSync(file)) return;
  if (statSync(file).isDirectory())
    throw new CommandError(`${displayPath(file)} is a folder. Name a file with --out.`);
  if (force) return;
  throw new CommandError(
    `${displayPath(file)} already exists. Overwrite it with --force, or name another file with --out.`,
  );
}

function tell(
  { operator, deployed, question, fakes }: Source,
  { result, extent }: Draft,
  file: string,
  isRun: boolean,
  { json }: RecordOptions,
): void {
  const { event, object, children, used } = question;
  const count = Object.values(used).flat().filter(Boolean).length;
  const isError = result.actual !== undefined && "error" in result.actual;
  if (json) {
    const { name, installation } = deployed.operator;
    const told = { operator: name, installation, object: referenceTo(object, object.metadata), event, file };
    const counts = { childCount: children.length, usedCount: count, fakeCount: fakes.size };
    print(JSON.stringify({ ...told, ...counts, passed: result.passed }));
    return;
  }
  const style = styleFor(process.stdout);
  const parts = [
    nameOf(object),
    numbered(children.length, "child", "children"),
    numbered(count, "used object", "used objects"),
  ];
  print(`${style("green", "✎")} ${file}: ${parts.join(", ")}${event === "finalize" ? ", to finalize" : ""}`);
  if (fakes.size > 0) print(`  ${numbered(fakes.size, "value", "values")} of Secrets were replaced by fakes`);
  if (extent !== "lean")
    print("  it contains uid and times, because the handler's answer may depend on them");
  if (isError) print("  the handler returns an error, and the fixture expects that error");
  if (!result.passed) print(`  ${style("red", "the fixture does not pass:")}\n${whyNot(result)}`);
  print(
    isRun
      ? `  run it: ${asTyped(`test ${operator.name}`)}`
      : `  argosy test runs only ${fixturesOf(operator)}`,
  );
}

function whyNot({ failure, differences }: FixtureResult): string {
  return indent(failure ?? differences.join("\n"));
}

function fixturesOf(operator: Operator): string {
  return `${displayPath(path.join(operator.folder, "fixtures"))}/*.yaml`;
}

function numbered(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

function nameOf({ kind, metadata }: KubernetesObject): string {
  return kindAndName(kind, metadata);
}
