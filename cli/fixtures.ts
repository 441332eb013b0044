import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { anyObject, check, fields, listOf, oneOf } from "../definition/checks";
import { Problems } from "../definition/problems";
import { readYaml } from "../definition/readYaml";
import { desiredChildren } from "../runtime/children/desiredChildren";
import type { Operator } from "../runtime/definition/definition";
import { statusChecker } from "../runtime/definition/statusSchema";
import { ReconcileFailure } from "../runtime/failure";
import {
  type HandlerAnswer,
  type HandlerEvent,
  type HandlerQuestion,
  type QuestionParts,
  questionAbout,
} from "../runtime/handler/contract";
import { HandlerPool } from "../runtime/handler/handlerPool";
import { parseAnswer } from "../runtime/handler/parseAnswer";
import { isNamespaced } from "../runtime/kubernetes/kinds";
import type { Json, JsonObject, Manifest } from "../runtime/kubernetes/objects";
import { isJsonObject } from "../runtime/kubernetes/objects";
import { localHandler } from "./localHandler";

/** An example of what a handler is asked and what it must answer. */
export interface Fixture {
  /** The file in the operator's folder, and which of its documents: "fixtures/scale.yaml#2". */
  readonly name: string;
  readonly event: HandlerEvent;
  readonly object: JsonObject;
  /** The observed children. */
  readonly children: readonly Json[];
  /** The whole answer that is expected. */
  readonly answer: JsonObject;
}

/** What a handler made of a fixture. */
export interface FixtureResult {
  readonly name: string;
  /** Whether the answer is exactly the expected one. */
  readonly passed: boolean;
  readonly expected: JsonObject;
  /** What the handler answered; undefined where it gave no valid answer. */
  readonly actual?: unknown;
  /** Why there is no valid answer, with the end of the handler's standard error. */
  readonly failure?: string;
}

/**
 * Runs an operator's fixtures, one after another, in one living process of its real handler, just as the engine
 * would run it. After a failure the next fixture gets a fresh process.
 *
 * @throws OperatorError where a fixture file cannot be understood
 */
export async function runFixtures(operator: Operator): Promise<FixtureResult[]> {
  const fixtures = readFixtures(operator.folder);
  const { env, timeoutSeconds } = operator;
  const transport = localHandler(operator, env);
  const pool = new HandlerPool({ transport, timeoutMs: timeoutSeconds * 1000 });
  try {
    const results: FixtureResult[] = [];
    for (const fixture of fixtures) results.push(await runFixture(fixture, operator, pool));
    return results;
  } finally {
    await pool.close();
  }
}

/**
 * Reads the fixtures of an operator: every document of `fixtures/*.yaml`, in the order of the files' names.
 *
 * @throws OperatorError where one cannot be understood
 */
export function readFixtures(folder: string): Fixture[] {
  const directory = path.join(folder, "fixtures");
  if (!existsSync(directory)) return [];
  const problems = new Problems();
  const fixtures: Fixture[] = [];
  for (const name of readdirSync(directory).sort()) {
    if (!/\.ya?ml$/.test(name)) continue;
    const file = path.join(directory, name);
    const documents = readYaml(file, "Give it back, or leave it out.", problems) ?? [];
    for (const [index, { content, report }] of documents.entries()) {
      const place = documents.length > 1 ? `#${index + 1}` : "";
      const fixture = check(FIXTURE, content, report);
      if (fixture) fixtures.push({ ...fixture, name: `fixtures/${name}${place}` });
    }
  }
  if (problems.found) throw problems.toError();
  return fixtures;
}

const FIXTURE = fields(
  {
    event: oneOf(["reconcile", "finalize"], "Leave it out for reconcile.").default("reconcile"),
    object: anyObject("Give the custom resource."),
    children: listOf(anyObject("Give an object."), "List the children that are there already.").default([]),
    answer: anyObject("Give what the handler must answer: children and status, or error."),
  },
  "Give object, children and answer.",
);

/** The fixture as a question of the engine's. Its object need not have more than its handler reads. */
function questionOf({ event, object, children }: Fixture): HandlerQuestion {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {};
  const complete = { ...object, metadata: { uid: "fixture", ...metadata } };
  const parts = { event, object: complete, children, attempt: 1 } as unknown as QuestionParts;
  return { ...questionAbout(parts), object: object as unknown as HandlerQuestion["object"] };
}

async function runFixture(fixture: Fixture, operator: Operator, pool: HandlerPool): Promise<FixtureResult> {
  const { name, event, answer: expected } = fixture;
  try {
    const { answer: given } = await pool.ask(questionOf(fixture));
    const answer = parseAnswer(given, event);
    checkAgainstDefinition(answer, fixture, operator);
    return { name, passed: isDeepStrictEqual(answer, expected), expected, actual: answer };
  } catch (error) {
    if (!(error instanceof ReconcileFailure)) throw error;
    return { name, passed: false, expected, failure: [error.message, error.log].join("\n").trim() };
  }
}

/** What the engine checks before it applies anything, as far as no cluster is needed for it. */
function checkAgainstDefinition(answer: HandlerAnswer, { object }: Fixture, operator: Operator): void {
  if ("children" in answer) {
    const { apiVersion, kind, metadata } = object as unknown as Manifest;
    const owner = { apiVersion, kind, metadata: { uid: "fixture", resourceVersion: "1", ...metadata } };
    const resources = operator.children.map((child) => ({
      ...child,
      namespaced: isNamespaced(child.apiVersion, child.kind) ?? true,
    }));
    desiredChildren(answer.children, owner, operator, resources);
  }
  const check = statusChecker(operator.customResource.statusSchema);
  const problem = "status" in answer && answer.status ? check(answer.status) : undefined;
  if (problem) throw new ReconcileFailure("InvalidAnswer", problem);
}
