import { desiredChildren } from "../children/desiredChildren";
import type { Operator } from "../definition/definition";
import { statusChecker } from "../definition/statusSchema";
import { askHandler } from "../handler/askHandler";
import { type HandlerAnswer, questionAbout } from "../handler/contract";
import type { HandlerPool } from "../handler/handlerPool";
import { isRecord } from "../json";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";

/** What a trial works with. */
export interface TrialOptions {
  readonly operator: Operator;
  /** The declared children's kinds as the API serves them, in the order of `operator.children`. */
  readonly childResources: readonly Resource[];
  readonly pool: HandlerPool;
}

/** What a handler answered for an object that it was tried on. */
export interface TrialResult {
  /** The handler's answer, which the engine would accept. */
  readonly answer: Exclude<HandlerAnswer, { error: unknown }>;
  /** The end of what the handler wrote to standard error. */
  readonly log: string;
  readonly durationMs: number;
}

/** An object that nobody has created yet has no uid. */
const NO_UID = "trial";

/** The fields of an example's metadata that are used elsewhere. All others go to the handler as they are. */
const METADATA_TYPES = {
  uid: "string",
  namespace: "string",
  generation: "number",
  deletionTimestamp: "string",
};

/**
 * Asks the handler about an object alone: nothing is read for it, there are no children, and nothing is applied. The
 * answer is checked as it would be before it is applied. An object with a deletionTimestamp is asked to be finalized.
 *
 * @param object an example of the operator's custom resource
 * @throws Error if it is not one; ReconcileFailure if the handler fails, or its answer would be refused
 */
export async function tryHandler(options: TrialOptions, object: unknown): Promise<TrialResult> {
  const { operator, childResources, pool } = options;
  const example = readExample(object, operator);
  const event = example.metadata.deletionTimestamp ? "finalize" : "reconcile";
  const startedAt = performance.now();
  const { answer, log } = await askHandler<HandlerAnswer>(
    pool,
    questionAbout({ event, object: example, children: [], attempt: 1, dryRun: true }),
    statusChecker(operator.customResource.statusSchema),
  );
  if ("children" in answer) desiredChildren(answer.children, example, operator, childResources);
  return { answer, log, durationMs: performance.now() - startedAt };
}

function readExample(object: unknown, { customResource }: Operator): KubernetesObject {
  const { group, version, kind } = customResource;
  const apiVersion = `${group}/${version}`;
  const wanted = `a ${kind} (${apiVersion}) with metadata.name`;
  if (!isRecord(object) || object["apiVersion"] !== apiVersion || object["kind"] !== kind) {
    throw new Error(`the object to try the handler on must be ${wanted}`);
  }
  const { metadata } = object;
  if (!isRecord(metadata) || typeof metadata["name"] !== "string" || metadata["name"] === "") {
    throw new Error(`the object to try the handler on must be ${wanted}; the name is missing`);
  }
  const { name, managedFields: _, ...more } = metadata;
  for (const [field, type] of Object.entries(METADATA_TYPES)) {
    if (more[field] !== undefined && typeof more[field] !== type) {
      throw new Error(`the object to try the handler on has a metadata.${field} that is no ${type}`);
    }
  }
  return { ...object, apiVersion, kind, metadata: { uid: NO_UID, resourceVersion: "1", ...more, name } };
}
