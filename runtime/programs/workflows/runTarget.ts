import { flawOf, readJson } from "../../base/json";
import {
  apiVersionOf,
  isObjectName,
  type KubernetesObject,
  type ObjectName,
  timeOf,
} from "../../base/objects";
import type { Resource } from "../../base/resource";
import type { DueSchedule } from "../../handler/contract";
import type { CustomResourceKind, Operator } from "../../operator/definition";
import { parameterOf, RUN_PARAMETERS, USED_PARAMETER } from "../../report/workflows";

/** What a submitted run is about. */
export type RunTarget =
  /** A custom resource, to be reconciled. */
  | {
      readonly kind: "object";
      readonly name: ObjectName;
      /** The uid that the object must have. Undefined if the submitter did not give one. */
      readonly uid: string | undefined;
      /** The schedule that should be due, at the instant at which the run was submitted. Undefined: none. */
      readonly due: DueSchedule | undefined;
    }
  /** An example, for the handler to be tried on. */
  | { readonly kind: "trial"; readonly object: unknown; readonly used: unknown };

/** A run was submitted with parameters that make no sense. The message says which and what to do. */
export class RunTargetError extends Error {}

/**
 * Reads from a Workflow's parameters what to do.
 * @throws RunTargetError if the parameters cannot be understood
 */
export function runTargetOf(
  workflow: KubernetesObject,
  operator: Pick<Operator, "customResource" | "namespaces" | "schedules">,
): RunTarget {
  const object = parameterOf(workflow, RUN_PARAMETERS.object);
  if (object !== "") {
    const used = parameterOf(workflow, USED_PARAMETER.used);
    return { kind: "trial", object: parse(object, "object"), used: used === "" ? {} : parse(used, "used") };
  }
  const { kind, namespaced } = operator.customResource;
  const name = needed(workflow, "name", kind);
  const uid = parameterOf(workflow, RUN_PARAMETERS.uid) || undefined;
  const due = scheduleIn(workflow, operator);
  if (!namespaced) {
    refuseNamespace(workflow, kind);
    return { kind: "object", name: { name }, uid, due };
  }
  const namespace = needed(workflow, "namespace", kind);
  if (operator.namespaces !== "all" && !operator.namespaces.includes(namespace)) {
    throw new RunTargetError(
      `this operator handles no ${kind} in namespace ${namespace}, only in ${operator.namespaces.join(", ")}`,
    );
  }
  return { kind: "object", name: { namespace, name }, uid, due };
}

/**
 * The schedule that a run starts. The time of the run's submission distinguishes it from all others, and stays the same if the
 * run is tried again.
 */
function scheduleIn(
  workflow: KubernetesObject,
  { schedules = {} }: Pick<Operator, "schedules">,
): DueSchedule | undefined {
  const name = parameterOf(workflow, RUN_PARAMETERS.schedule);
  if (name === "") return undefined;
  if (!Object.hasOwn(schedules, name)) {
    const known = Object.keys(schedules).join(", ");
    throw new RunTargetError(
      `parameter "schedule" is "${name.slice(0, 80)}", and this operator has ${known === "" ? "no schedules" : `only ${known}`}`,
    );
  }
  return { name, at: workflow.metadata.creationTimestamp ?? timeOf(new Date()) };
}

/** The kind of an operator's custom resources as the API serves it. */
export function resourceOf({ kind, plural, namespaced, ...version }: CustomResourceKind): Resource {
  return { apiVersion: apiVersionOf(version), kind, plural, namespaced };
}

/** The lock of a run has its parameters as its name. With another namespace, two runs would work on one object. */
function refuseNamespace(workflow: KubernetesObject, kind: string): void {
  const namespace = parameterOf(workflow, RUN_PARAMETERS.namespace);
  if (namespace === "") return;
  throw new RunTargetError(
    `parameter "namespace" is "${namespace.slice(0, 80)}", and a ${kind} has no namespace: leave it empty`,
  );
}

function needed(workflow: KubernetesObject, parameter: "name" | "namespace", kind: string): string {
  const value = parameterOf(workflow, RUN_PARAMETERS[parameter]);
  if (isObjectName(value)) return value;
  const what =
    value === "" ? "is missing" : `is "${value.slice(0, 80)}", which cannot be the name of an object`;
  throw new RunTargetError(
    `parameter "${parameter}" ${what}: give the ${parameter} of the ${kind} to reconcile, or an example in parameter "object"`,
  );
}

function parse(text: string, parameter: "object" | "used"): unknown {
  let value: unknown;
  try {
    value = readJson(text);
  } catch (error) {
    throw new RunTargetError(`parameter "${parameter}" is not JSON: ${(error as Error).message}`);
  }
  const flaw = flawOf(value);
  if (flaw !== undefined) throw new RunTargetError(`parameter "${parameter}" ${flaw}`);
  return value;
}
