import { readFileSync } from "node:fs";
import path from "node:path";
import { isRecord } from "../base/json";
import type { Operator } from "../operator/definition";
import { POD_LAYOUT } from "./layout";

/** The file's name, in the folder {@link POD_LAYOUT} calls "definition". */
export const DEFINITION_FILE = "operator.json";

/**
 * The fields of an operator with a pod for each run that only the resident runner reads. They are in its environment. If they were in
 * the file, a change of them would change the program of every run, and waiting runs would be created again.
 */
export type RunnerFields = Pick<Operator, "concurrency" | "resyncSeconds">;

/** The values of these fields in a run. A run asks about one object, and nothing is repeated by itself in it. */
const IN_A_RUN: RunnerFields = { concurrency: 1, resyncSeconds: Number.POSITIVE_INFINITY };

/**
 * The part of an operator that the runner reads. A change of the rest does not roll out the runner. The folder is the author's,
 * and everything that the engine needs of the CRD is in `customResource`. {@link RunnerFields} are left out of an operator with
 * `execution: "pod"`.
 */
export function definitionFileContent(operator: Operator): string {
  const { folder, crd, overridden, replicas, grants, include, files, on, userRoles, egress, ...read } =
    operator;
  if (operator.execution === "resident") return JSON.stringify(read);
  const { concurrency, resyncSeconds, ...ofRuns } = read;
  return JSON.stringify(ofRuns);
}

/**
 * Reads the operator that this runner runs. With `execution: "pod"` it has the {@link RunnerFields} of a run.
 * @param folder the folder of operator.json
 * @throws Error if the file does not exist, or is no JSON object
 */
export function readDefinitionFile(folder: string): Operator {
  const file = path.join(folder, DEFINITION_FILE);
  const content = parse(file);
  const definition: Record<string, unknown> =
    content["execution"] === "pod" ? { ...IN_A_RUN, ...content } : content;
  return {
    ...(definition as unknown as Operator),
    folder: POD_LAYOUT.handler,
    crd: {},
    overridden: [],
    grants: [],
  };
}

function parse(file: string): Record<string, unknown> {
  try {
    const content: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (isRecord(content)) return content;
  } catch (error) {
    throw unusable(file, (error as Error).message);
  }
  throw unusable(file, "it is not an object");
}

function unusable(file: string, complaint: string): Error {
  return new Error(
    `${file}: ${complaint}. Deploy the operator again: the file is generated from its definition.`,
  );
}
