import { isRecord } from "../../runtime/json/json";
import { type Condition, conditionsIn, type KubernetesObject } from "../../runtime/kubernetes/objects";
import {
  elsewhereFinalizerOf,
  finalizerOf,
  finalizersOf,
  identityIn,
  identityOf,
  SKIP_FINALIZE_ANNOTATION,
} from "../../runtime/names";
import { asTyped } from "../asTyped";
import { entryOf } from "../errors/catalogue";
import type { Known } from "./known";
import { AFTER_DELETION, SEE_ALL } from "./readInstalled";

/** A finalizer that keeps an object that is being deleted. */
export interface Hold {
  readonly finalizer: string;
  /** The field manager that set it, as the API server recorded it. */
  readonly by: string;
  /** What it waits for, as a clause. */
  readonly waitsFor: string;
  readonly remedy: string;
}

/** Reasons of Ready that are no failures. */
export const WAITS: Readonly<Record<string, string>> = {
  ChildrenNotReady: "its children are applied, but some of them are not ready",
  Finalizing: "its handler is cleaning up",
};

/** Every finalizer of an object that is being deleted. */
export function holdsOf(known: Known): Hold[] {
  const { object, operators, unreadable, unseen, unled, childrenElsewhere } = known;
  const { finalizers = [] } = object.metadata;
  const ready = conditionsIn(object["status"]).find(({ type }) => type === "Ready");
  const failure = ready && !WAITS[ready.reason] && ready.reason !== "Reconciled" ? ready : undefined;
  const because = failure ? `: ${failure.message.replace(/\.$/, "")}` : "";
  return finalizers.map((finalizer) => {
    const by = whoPut(finalizer, object);
    if (unled && finalizersOf(unled.operator).includes(finalizer)) {
      const waitsFor = `no runner of ${identityOf(unled.operator)} leads${unled.why}`;
      return { finalizer, by, waitsFor, remedy: unled.remedy };
    }
    const own = operators.find((each) => finalizerOf(each) === finalizer);
    if ((own || isOfChildrenElsewhere(finalizer, known)) && failure && !isOfHandler(failure)) {
      const remedy = entryOf(failure.reason)?.remedy ?? `Look it up: ${asTyped(`errors ${failure.reason}`)}`;
      return { finalizer, by, waitsFor: `its operator cannot release it${because}`, remedy };
    }
    if (own) {
      return {
        finalizer,
        by,
        waitsFor: `its handler has not returned "finalized": true${because}`,
        remedy: `Fix the handler of ${own.name}. To let the object go without its handler: kubectl annotate ${reference(object)} ${SKIP_FINALIZE_ANNOTATION}=true`,
      };
    }
    if (isOfChildrenElsewhere(finalizer, known)) {
      const some = childrenElsewhere.slice(0, 5).join(", ");
      return {
        finalizer,
        by,
        waitsFor: some
          ? `its children in other namespaces still exist: ${some}`
          : "Argosy is still looking for its children in other namespaces",
        remedy: some ? "Find out with argosy explain what holds up these children." : "Wait a moment.",
      };
    }
    const operator = /^(?:elsewhere\.)?argosy\.dev\/(.+)$/.exec(finalizer)?.[1];
    if (operator !== undefined) {
      const unread = unreadable.find(({ name }) => name === identityIn(operator)?.name);
      if (unread) {
        const waitsFor = `the operator ${operator} must release it, and its definition cannot be read`;
        return { finalizer, by, waitsFor, remedy: unread.remedy };
      }
      if (unseen) {
        const waitsFor = `the operator ${operator} must release it, and whether it is installed is not known, because ${unseen}`;
        return { finalizer, by, waitsFor, remedy: SEE_ALL };
      }
      return {
        finalizer,
        by,
        waitsFor: `the operator ${operator}, which must release it, is not installed in this cluster`,
        remedy: `Deploy ${operator} again, or add its name to formerNames of its successor, or remove the finalizer ${finalizer} by kubectl edit ${reference(object)}. ${AFTER_DELETION}`,
      };
    }
    if (finalizer === "foregroundDeletion" || finalizer === "orphan") {
      return {
        finalizer,
        by: "Kubernetes' garbage collector",
        waitsFor:
          finalizer === "orphan"
            ? "the garbage collector is removing its owner references from its children"
            : "its children in the same namespace are deleted first",
        remedy: "Wait for the garbage collector, or find out what holds up the children.",
      };
    }
    return {
      finalizer,
      by,
      waitsFor: `${by} has not removed its finalizer ${finalizer}`,
      remedy: `Look at the log of ${by}. Argosy has nothing to do with the finalizer ${finalizer}.`,
    };
  });
}

function isOfChildrenElsewhere(finalizer: string, { operators }: Known): boolean {
  return operators.some((each) => elsewhereFinalizerOf(each) === finalizer);
}

/** Whether the handler can mend a failure. */
function isOfHandler({ reason }: Condition): boolean {
  return reason.startsWith("Handler") || reason === "InvalidAnswer";
}

/** The field manager that owns a finalizer. */
function whoPut(finalizer: string, { metadata }: KubernetesObject): string {
  const owner = metadata.managedFields?.find(({ fieldsV1 }) => {
    const inMetadata = fieldsV1?.["f:metadata"];
    const finalizers = isRecord(inMetadata) ? inMetadata["f:finalizers"] : undefined;
    return isRecord(finalizers) && `v:"${finalizer}"` in finalizers;
  });
  return owner?.manager ?? "somebody unknown";
}

function reference({ kind, metadata: { namespace, name } }: KubernetesObject): string {
  return `${namespace ? `-n ${namespace} ` : ""}${kind.toLowerCase()} ${name}`;
}
