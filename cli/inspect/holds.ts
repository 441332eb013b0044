import { z } from "zod";
import { isRecord } from "../../runtime/base/json";
import { finalizerOf, finalizersOf, identityOf, SKIP_FINALIZE_ANNOTATION } from "../../runtime/base/names";
import { type Condition, conditionsIn, type KubernetesObject } from "../../runtime/base/objects";
import { groupKind } from "../../runtime/base/resource";
import { asTyped } from "../common/asTyped";
import { entryOf } from "../errors/catalogue";
import type { Known } from "./known";
import { AFTER_DELETION, identityIn, SEE_ALL } from "./readInstalled";

/** The schema of a {@link Hold}. */
export const HOLD = z.strictObject({
  finalizer: z.string(),
  by: z.string().describe("The field manager that set it, as the API server recorded it."),
  waitsFor: z.string().describe("What it waits for, as a clause."),
  remedy: z.string(),
});

/** A finalizer that keeps an object that is being deleted. */
export type Hold = Readonly<z.infer<typeof HOLD>>;

/** Reasons of Ready that are no failures. */
export const WAITS: Readonly<Record<string, string>> = {
  ChildrenNotReady: "its children are applied, but some of them are not ready",
  Finalizing: "its handler is cleaning up",
};

/** What the garbage collector does before it removes a finalizer of its own. */
const OF_COLLECTOR: ReadonlyMap<string, string> = new Map([
  ["orphan", "the garbage collector is removing its owner references from its children"],
  ["foregroundDeletion", "its children in the same namespace are deleted first"],
]);

/** Every finalizer of an object that is being deleted. */
export function holdsOf(known: Known): Hold[] {
  const { finalizers = [] } = known.object.metadata;
  return finalizers.map((finalizer) => {
    const by = whoPut(finalizer, known.object);
    return { finalizer, by, ...reasonOf(finalizer, by, known) };
  });
}

/** Why a finalizer is still set. */
type Reason = Pick<Hold, "waitsFor" | "remedy">;

function reasonOf(finalizer: string, by: string, known: Known): Reason {
  const { object, operators, unled } = known;
  if (unled && finalizersOf(unled.operator).includes(finalizer))
    return { waitsFor: `no runner of ${identityOf(unled.operator)} leads${unled.why}`, remedy: unled.remedy };
  const own = operators.find((each) => finalizerOf(each) === finalizer);
  const isOfChildren = operators.some((each) => finalizerOf(each, "elsewhere") === finalizer);
  const isOfOrder = operators.some((each) => finalizerOf(each, "order") === finalizer);
  if (own || isOfChildren || isOfOrder) {
    const failure = failureOf(object);
    const because = failure ? `: ${failure.message.replace(/\.$/, "")}` : "";
    if (failure && !isOfHandler(failure)) {
      const remedy = entryOf(failure.reason)?.remedy ?? `Look it up: ${asTyped(`errors ${failure.reason}`)}`;
      return { waitsFor: `its operator cannot release it${because}`, remedy };
    }
    if (isOfOrder) return childrenInOrder(object);
    if (!own) return childrenElsewhere(known);
    return {
      waitsFor: `its handler has not returned "finalized": true${because}`,
      remedy: `Fix the handler of ${own.name}. To let the object go without its handler: kubectl annotate ${reference(object)} ${SKIP_FINALIZE_ANNOTATION}=true`,
    };
  }
  const absent = /^(?:elsewhere\.|order\.)?argosy\.dev\/(.+)$/.exec(finalizer)?.[1];
  if (absent !== undefined) return ofAbsentOperator(absent, finalizer, known);
  const waitsFor = OF_COLLECTOR.get(finalizer);
  if (waitsFor !== undefined)
    return { waitsFor, remedy: "Wait for the garbage collector, or find out what holds up the children." };
  return {
    waitsFor: `${by} has not removed its finalizer ${finalizer}`,
    remedy: `Look at the log of ${by}. Argosy has nothing to do with the finalizer ${finalizer}.`,
  };
}

function childrenInOrder(object: KubernetesObject): Reason {
  const said = conditionsIn(object.status).find(
    ({ type, reason }) => type === "Ready" && reason === "Finalizing",
  );
  return {
    waitsFor: said ? `its ${said.message}` : "its children go in the reverse order of argosy.dev/after",
    remedy: `Find out what holds up the child that is being deleted, such as a finalizer of another program. To delete the rest at once: kubectl annotate ${reference(object)} ${SKIP_FINALIZE_ANNOTATION}=true`,
  };
}

function childrenElsewhere({ childrenElsewhere: children }: Known): Reason {
  const some = children.slice(0, 5).join(", ");
  if (some === "")
    return {
      waitsFor: "Argosy is still looking for its children in other namespaces",
      remedy: "Wait a moment.",
    };
  return {
    waitsFor: `its children in other namespaces still exist: ${some}`,
    remedy: "Find out with argosy explain what holds up these children.",
  };
}

/** @param operator the identity of an operator that is not among those that are known */
function ofAbsentOperator(
  operator: string,
  finalizer: string,
  { object, unreadable, unseen }: Known,
): Reason {
  const unread = unreadable.find(({ name }) => name === identityIn(operator)?.name);
  const must = `the operator ${operator} must release it`;
  if (unread) return { waitsFor: `${must}, and its definition cannot be read`, remedy: unread.remedy };
  if (unseen)
    return {
      waitsFor: `${must}, and whether it is installed is not known, because ${unseen}`,
      remedy: SEE_ALL,
    };
  return {
    waitsFor: `the operator ${operator}, which must release it, is not installed in this cluster for the kind ${groupKind(object)}`,
    remedy: `Deploy ${operator} for this kind again, or add its name to formerNames of its successor, or remove the finalizer ${finalizer} by kubectl edit ${reference(object)}. ${AFTER_DELETION}`,
  };
}

/** Why the object's last run failed. */
function failureOf({ status }: KubernetesObject): Condition | undefined {
  const ready = conditionsIn(status).find(({ type }) => type === "Ready");
  return ready && !WAITS[ready.reason] && ready.reason !== "Reconciled" ? ready : undefined;
}

/** Whether the handler can mend a failure. */
function isOfHandler({ reason }: Condition): boolean {
  return reason.startsWith("Handler") || reason === "InvalidAnswer";
}

/** The field manager that owns a finalizer. */
function whoPut(finalizer: string, { metadata }: KubernetesObject): string {
  if (OF_COLLECTOR.has(finalizer)) return "Kubernetes' garbage collector";
  const owner = metadata.managedFields?.find(({ fieldsV1 }) => {
    const inMetadata = fieldsV1?.["f:metadata"];
    const finalizers = isRecord(inMetadata) ? inMetadata["f:finalizers"] : undefined;
    return isRecord(finalizers) && `v:"${finalizer}"` in finalizers;
  });
  return owner?.manager ?? "an unknown client";
}

function reference({ kind, metadata: { namespace, name } }: KubernetesObject): string {
  return `${namespace ? `-n ${namespace} ` : ""}${kind.toLowerCase()} ${name}`;
}
