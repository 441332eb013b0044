import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { checkCommand } from "../../definition/commandOnPath";
import { loadOperators } from "../../definition/loadOperators";
import { displayPath } from "../../definition/problems";
import { ReconcileFailure } from "../../runtime/base/failure";
import { type KubernetesObject, kindAndName } from "../../runtime/base/objects";
import type { KubernetesClient, Operator, Used } from "../../runtime/cli";
import { asTyped } from "../common/asTyped";
import { CommandError, EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { writeNewFiles } from "../common/newFiles";
import { checkObjectNames } from "../common/objectName";
import { OBJECT_REFERENCE, referenceTo } from "../common/objectReference";
import {
  clusterOptions,
  flag,
  jsonOption,
  namespaceOption,
  operatorsOptions,
  option,
  type ValuesOf,
} from "../common/options";
import { findHandlers } from "../common/project";
import { rewriteFile } from "../common/rewriteFile";
import { indent, numbered, print, progress, safe, styleFor } from "../common/terminal";
import type { DeployedOperator } from "../diff/deployed";
import { liveObject } from "../diff/liveObject";
import { otherFakeOf } from "../diff/secretMask";
import { secretsOfEnvironment } from "../diff/secretsOfEnvironment";
import { deployedAs } from "../diff/show";
import type { FixtureResult } from "../fixtures/runFixtures";
import { installedOperators } from "../inspect/installed";
import { withCluster } from "../inspect/session";
import { type Draft, draft } from "../record/draft";
import { Fakes } from "../record/fakes";
import { asked, type LiveQuestion, liveQuestion, secretsAmong } from "../record/question";
import { requestOf } from "../record/recordedRun";

const RECORDED = z.strictObject({
  operator: z.string(),
  installation: z.string(),
  object: OBJECT_REFERENCE,
  event: z.enum(["reconcile", "finalize"]).describe("What the handler was asked for."),
  file: z.string().describe("The fixture that was written."),
  childCount: z.number(),
  usedCount: z.number().describe("How many used objects it has."),
  fakeCount: z.number().describe("How many values of Secrets are fakes."),
  passed: z.boolean().describe("Whether the fixture passes."),
});

const OPTIONS = [
  option("--run <run>", "a recorded run instead of an object, by its name in argosy runs"),
  option("--out <file>", "the file to write (default: fixtures/<name>.yaml in the operator's folder)"),
  flag("--force", "overwrite an existing file"),
  option("--installation <name>", "the installation, if an operator is deployed more than once"),
  namespaceOption(),
  ...operatorsOptions(),
  ...clusterOptions(),
  jsonOption(RECORDED, "print a line of JSON"),
];

type Options = ValuesOf<typeof OPTIONS>;

/** A question for a fixture, and its origin. */
interface Source {
  readonly operator: Operator;
  /** As the cluster knows it. */
  readonly deployed: DeployedOperator;
  readonly question: LiveQuestion;
  readonly fakes: Fakes;
  /** Other fakes for the same values. */
  readonly others: Fakes;
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
export default command({
  description:
    "Writes a fixture from a live object: the request contains the object, its children and the objects that it uses, and the " +
    "expectation is the answer of this folder's handler. Fakes replace the values of Secrets. The exit code is 1 if the " +
    "fixture does not pass.",
  arguments: [["[object]", "KIND/NAME, for example memcached/sessions"]],
  options: OPTIONS,
  async run(of, options) {
    if (of !== undefined) checkObjectNames([of]);
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
  },
});

async function fromObject(
  client: KubernetesClient,
  of: string,
  operators: readonly Operator[],
  options: Options,
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
  options: Options,
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
  const [fakes, others] = [new Fakes(), new Fakes(otherFakeOf)];
  const unread = (name: string) =>
    progress(
      `Secret ${name} of secretEnv does not exist, or this account cannot read it. Before you commit the file, check that it ` +
        "contains no value of this Secret.",
    );
  const secrets = [
    ...question.secrets,
    ...(await secretsOfEnvironment(client, operator, deployed.home, unread)),
  ];
  for (const secret of secrets) for (const each of [fakes, others]) each.learn(secret);
  for (const note of question.notes) progress(note);
  return { operator, deployed, question, fakes, others, from };
}

async function write(source: Source, options: Options): Promise<number> {
  const { operator, question, fakes, others, from } = source;
  const fixtures = path.join(operator.folder, "fixtures");
  const file = options.out
    ? path.resolve(options.out)
    : path.join(fixtures, `${question.object.metadata.name}.yaml`);
  checkFree(file, options);
  checkCommand(operator);
  const comment = [`Recorded from ${from}.`, ...(fakes.size > 0 ? ["The values of Secrets are fakes."] : [])];
  const isOurs = operator.watch === undefined;
  const hasSecrets = fakes.size > 0 || Object.keys(operator.secretEnv).length > 0;
  const made = await draft(
    operator,
    (extent) => fakes.inside(asked(question, extent, isOurs)),
    (hasSecrets ? [fakes, others] : []).map((each) => ({
      question: each.inside(asked(question, "whole", isOurs)),
      env: each.environment(operator),
    })),
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
function checkFree(file: string, { force }: Options): void {
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
  options: Options,
): void {
  const { json } = options;
  const { event, object, children, used } = question;
  const count = Object.values(used).flat().filter(Boolean).length;
  const isError = result.actual !== undefined && "error" in result.actual;
  if (json) {
    const { name, installation } = deployed.operator;
    const told = { operator: name, installation, object: referenceTo(object, object.metadata), event, file };
    const counts = { childCount: children.length, usedCount: count, fakeCount: fakes.size };
    return json({ ...told, ...counts, passed: result.passed });
  }
  const style = styleFor(process.stdout);
  const parts = [
    nameOf(object),
    numbered(children.length, "child", "children"),
    numbered(count, "used object", "used objects"),
  ];
  print(
    `${style("green", "✎")} ${safe(`${file}: ${parts.join(", ")}`)}${event === "finalize" ? ", to finalize" : ""}`,
  );
  if (fakes.size > 0)
    print(`  ${numbered(fakes.size, "value of a Secret is a fake", "values of Secrets are fakes")}`);
  if (extent !== "lean")
    print("  it contains uid and times, because the handler's answer may depend on them");
  if (isError) print("  the handler returns an error, and the fixture expects that error");
  if (!result.passed) print(`  ${style("red", "the fixture does not pass:")}\n${safe(whyNot(result))}`);
  print(
    isRun
      ? `  run it: ${asTyped(`test ${operator.name}`, options)}`
      : `  argosy test runs only ${fixturesOf(operator)}`,
  );
}

function whyNot({ failure, differences }: FixtureResult): string {
  return indent(failure ?? differences.join("\n"));
}

function fixturesOf(operator: Operator): string {
  return `${displayPath(path.join(operator.folder, "fixtures"))}/*.yaml`;
}

function nameOf({ kind, metadata }: KubernetesObject): string {
  return kindAndName(kind, metadata);
}
