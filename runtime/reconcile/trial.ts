import { statusChecker } from "../base/contentSchema";
import { ReconcileFailure, shown } from "../base/failure";
import { isRecord } from "../base/json";
import { isSecretKind } from "../base/kinds";
import { apiVersionOf, isDnsName, isObjectName, type KubernetesObject, type Manifest } from "../base/objects";
import type { Resource } from "../base/resource";
import { type HandlerAnswer, questionAbout, type Used } from "../handler/contract";
import type { Asked } from "../handler/handlerPool";
import type { Operator } from "../operator/definition";
import { isList, type Uses } from "../operator/uses";
import { Scrubber } from "../secrets/scrubber";
import { desiredChildren } from "../write/desiredChildren";
import { askHandler, QuestionSecrets } from "./ask";

/** The parts with which a trial works. */
export interface TrialOptions {
  readonly operator: Operator;
  /** The declared children's kinds as the API serves them, in the order of `operator.children`. */
  readonly childResources: readonly Resource[];
  readonly pool: Asked;
}

/** The result of a trial of a handler on an object. */
export interface TrialResult {
  /** The handler's answer, which the engine would accept, without the values of Secrets. */
  readonly answer: Exclude<HandlerAnswer, { error: unknown }>;
  /** The end of the handler's standard error, without the values of Secrets. */
  readonly log: string;
  readonly durationMs: number;
}

/** The uid of an example. An object that is not created yet has none. */
const NO_UID = "trial";

/** The fields of an example's metadata that are used elsewhere. All others go to the handler as they are. */
const METADATA_TYPES = {
  uid: "string",
  namespace: "string",
  generation: "number",
  deletionTimestamp: "string",
};

/**
 * Asks the handler about an example: nothing is read from the cluster, there are no children, and nothing is applied. The caller
 * also gives the objects that the example uses, since a user who may try a handler may not read everything that its operator may.
 * The answer is checked in the same way as before it is applied. For an object with a deletionTimestamp, the handler is asked to
 * finalize. A user who sees the result need not be allowed to read Secrets.
 *
 * @param object an example of the operator's custom resource
 * @param used examples of the objects that it uses, by the keys of the definition's `uses`. A missing one is null or []
 * @throws Error if they are no such examples; ReconcileFailure if the handler fails, or its answer would be refused
 */
export async function tryHandler(
  options: TrialOptions,
  object: unknown,
  used: unknown = {},
): Promise<TrialResult> {
  const { operator, childResources, pool } = options;
  const example = readExample(object, operator);
  const event = example.metadata.deletionTimestamp ? "finalize" : "reconcile";
  const given = readUsed(used, operator);
  const about = { event, object: example, children: [], used: given } as const;
  const question = questionAbout({ ...about, attempt: 1, dryRun: true });
  const scrubber = new Scrubber();
  // The scrubber is of this trial alone, and forgets nothing of it.
  const asked = new QuestionSecrets(scrubber, pool, [example], secretsIn(given, operator), NO_UID);
  const startedAt = performance.now();
  try {
    const { answer, log } = await askHandler<HandlerAnswer>(
      asked,
      question,
      statusChecker(operator.customResource.statusSchema),
      !operator.watch,
    );
    const durationMs = performance.now() - startedAt;
    if ("children" in answer) desiredChildren(answer.children, example, operator, childResources);
    return { answer: scrubber.inside(answer), log: scrubber.text(log), durationMs };
  } catch (error) {
    throw error instanceof ReconcileFailure ? scrubber.failure(error) : error;
  }
}

/** The Secrets among examples of used objects. An example needs no kind. */
function secretsIn(used: Used, { uses }: Uses): Manifest[] {
  const secrets = Object.entries(uses).filter(([, use]) => isSecretKind(use));
  return secrets.flatMap(([key]) => used[key] ?? []);
}

/**
 * Examples of the objects that an object uses, as a user gives them, completed with null and [].
 * @throws Error if they do not fit the definition
 */
export function readUsed(examples: unknown, { uses }: Uses): Used {
  if (!isRecord(examples)) throw new Error("used must be an object, with the names in the definition's uses");
  const unknown = Object.keys(examples).find((key) => !Object.hasOwn(uses, key));
  if (unknown !== undefined) {
    const known = Object.keys(uses).join(", ") || "none";
    throw new Error(`used.${unknown} is not in the definition's uses, which are ${known}`);
  }
  const used = Object.entries(uses).map(([key, use]) => {
    const given = examples[key] ?? (isList(use) ? [] : null);
    const isRight = isList(use)
      ? Array.isArray(given) && given.every(isRecord)
      : given === null || isRecord(given);
    if (!isRight)
      throw new Error(`used.${key} must be ${isList(use) ? "a list of objects" : "an object or null"}`);
    return [key, given];
  });
  return Object.fromEntries(used) as Used;
}

/**
 * An example of the operator's custom resource, as a user gives it. Its name and namespace are those of an object, so they may be in a
 * path or a line.
 * @throws Error if it is none
 */
export function readExample(
  object: unknown,
  { customResource }: Pick<Operator, "customResource">,
): KubernetesObject {
  const { kind } = customResource;
  const apiVersion = apiVersionOf(customResource);
  const wanted = `a ${kind} (${apiVersion}) with metadata.name`;
  if (!isRecord(object) || object["apiVersion"] !== apiVersion || object["kind"] !== kind)
    throw new Error(`the object to try the handler on must be ${wanted}`);
  const { metadata } = object;
  if (!isRecord(metadata) || typeof metadata["name"] !== "string" || metadata["name"] === "")
    throw new Error(`the object to try the handler on must be ${wanted}; the name is missing`);
  const { name, managedFields: _, ...more } = metadata;
  if (!isObjectName(name)) throw new Error(`${shown(name)} is not the name of an object`);
  for (const [field, type] of Object.entries(METADATA_TYPES)) {
    if (more[field] !== undefined && typeof more[field] !== type)
      throw new Error(`the object to try the handler on has a metadata.${field} that is no ${type}`);
  }
  const { namespace } = more;
  if (namespace !== undefined && !isDnsName(String(namespace)))
    throw new Error(`${shown(namespace)} is not the name of a namespace`);
  return { ...object, apiVersion, kind, metadata: { uid: NO_UID, resourceVersion: "1", ...more, name } };
}

/** The most trials at once. Each takes a handler process from the objects. */
const MOST_AT_ONCE = 2;

/**
 * The trials of one operator. Few run at once, so that they leave handler processes to the objects. The others wait in the order in
 * which they came (tests/unit/replay.test.ts).
 */
export class Trials {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly options: TrialOptions) {}

  /**
   * Tries the handler on an example of the custom resource as {@link tryHandler} does, when there is room.
   * @throws as {@link tryHandler}
   */
  async run(object: unknown, used: unknown): Promise<TrialResult> {
    const most = Math.min(MOST_AT_ONCE, this.options.operator.concurrency);
    if (this.running < most) this.running++;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await tryHandler(this.options, object, used);
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running--;
    }
  }
}
