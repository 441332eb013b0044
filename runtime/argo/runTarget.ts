import type { CustomResourceKind, Operator } from "../definition/definition";
import { flawOf } from "../flaw";
import { readJson } from "../json";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { RUN_PARAMETERS } from "../pod/layout";
import { parameterOf } from "./workflows";

/** What a submitted run is about. */
export type RunTarget =
  /** A custom resource, to be reconciled. */
  | {
      readonly kind: "object";
      readonly name: ObjectName;
      /** The uid that it must have; undefined where the submitter did not say. */
      readonly uid: string | undefined;
    }
  /** An example, for the handler to be tried on. */
  | { readonly kind: "trial"; readonly object: unknown };

/** Whoever submitted a run gave it parameters that make no sense. The message says which and what to do. */
export class RunTargetError extends Error {}

/**
 * Reads from a Workflow's parameters what is to be done.
 * @throws RunTargetError where that cannot be understood
 */
export function runTargetOf(
  workflow: KubernetesObject,
  operator: Pick<Operator, "customResource" | "namespaces">,
): RunTarget {
  const object = parameterOf(workflow, RUN_PARAMETERS.object);
  if (object !== "") return { kind: "trial", object: parse(object) };
  const { kind, namespaced } = operator.customResource;
  const name = needed(workflow, "name", kind);
  const uid = parameterOf(workflow, RUN_PARAMETERS.uid) || undefined;
  if (!namespaced) return { kind: "object", name: { name }, uid };
  const namespace = needed(workflow, "namespace", kind);
  if (operator.namespaces !== "all" && !operator.namespaces.includes(namespace)) {
    throw new RunTargetError(
      `this operator handles no ${kind} in namespace ${namespace}, only in ${operator.namespaces.join(", ")}`,
    );
  }
  return { kind: "object", name: { namespace, name }, uid };
}

/** The kind of an operator's custom resources as the API serves it. */
export function resourceOf({ group, version, kind, plural, namespaced }: CustomResourceKind): Resource {
  return { apiVersion: `${group}/${version}`, kind, plural, namespaced };
}

/** What may be the name of an object, and so part of a path. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

function needed(workflow: KubernetesObject, parameter: "name" | "namespace", kind: string): string {
  const value = parameterOf(workflow, RUN_PARAMETERS[parameter]);
  if (OBJECT_NAME.test(value)) return value;
  const what = value === "" ? "is missing" : `is "${value.slice(0, 80)}", which no object can be called`;
  throw new RunTargetError(
    `parameter "${parameter}" ${what}: give the ${parameter} of the ${kind} to reconcile, or an example in parameter "object"`,
  );
}

function parse(text: string): unknown {
  let value: unknown;
  try {
    value = readJson(text);
  } catch (error) {
    throw new RunTargetError(`parameter "object" is not JSON: ${(error as Error).message}`);
  }
  const flaw = flawOf(value);
  if (flaw !== undefined) throw new RunTargetError(`parameter "object" ${flaw}`);
  return value;
}
