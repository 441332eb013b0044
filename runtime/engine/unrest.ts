import type { Child } from "../children/childStore";
import { readJson } from "../json/json";
import { changedFields } from "../kubernetes/changedFields";
import type { ObjectEvent } from "../reconcile/outcome";
import { describeChanges, type ReconcileReport } from "../reconcile/report";

/**
 * This many rounds may be well founded: a handler may lead its children step by step, or answer in one child how many replicas of
 * another one are ready.
 */
const MOST_ROUNDS = 20;
/** The most objects that are counted. If there are more, those that were reconciled last count. */
const MOST_COUNTED = 1_000;

/** An object of which the last reconciles all changed children without a reason. */
interface Count {
  readonly rounds: number;
  /** The children before the round that is in progress, as JSON, by uid. Undefined unless that round may be one too many. */
  before?: ReadonlyMap<string, string>;
}

/**
 * Finds objects whose handler never answers the same, for instance because it puts the time into a child. Each answer changes a child,
 * the child reports that, and so the handler is asked again, without end.
 */
export class Unrest {
  private readonly counts = new Map<string, Count>();

  /** A reconcile of the object begins. @param children of the object as they are now */
  begins(key: string, children: () => readonly Child[]): void {
    const count = this.counts.get(key);
    if (count?.rounds === MOST_ROUNDS - 1) count.before = jsonOf(children());
  }

  /**
   * A reconcile of the object has ended.
   * @param isUndoing whether somebody else had changed a child
   * @param children of the object as they are now
   * @returns a Warning if the handler has just turned out to be such a one
   */
  ended(
    key: string,
    {
      arrival,
      changes,
      waits,
      namespace,
    }: Pick<ReconcileReport, "arrival" | "changes" | "waits" | "namespace">,
    isUndoing: boolean,
    children: () => readonly Child[],
  ): ObjectEvent | undefined {
    const { rounds = 0, before } = this.counts.get(key) ?? {};
    this.counts.delete(key);
    // Children that wait are created one after another, although the handler answers the same.
    const isInOrder = waits && changes.every(({ verb }) => verb === "created");
    if (arrival?.cause !== "child" || changes.length === 0 || isInOrder || isUndoing) return undefined;
    this.counts.set(key, { rounds: rounds + 1 });
    const [oldest] = this.counts.keys();
    if (this.counts.size > MOST_COUNTED && oldest !== undefined) this.counts.delete(oldest);
    if (!before) return undefined;
    const fields = fieldsIn(before, jsonOf(children()));
    const what = `${describeChanges(changes, namespace)}${fields.length > 0 ? ` (${fields.join(", ")})` : ""}`;
    const note = `${MOST_ROUNDS} times in a row the handler has answered other children, although only its own children had changed: ${what}. This goes on without end if the answer contains the time or a random value: let the handler answer the same for the same object`;
    return { type: "Warning", reason: "AnswersDiffer", note };
  }
}

function jsonOf(children: readonly Child[]): ReadonlyMap<string, string> {
  return new Map(children.flatMap(({ uid, json }) => (json === undefined ? [] : [[uid, json] as const])));
}

/** The fields of children that differ, without their values: they may be those of a Secret. */
function fieldsIn(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const paths = [...now].flatMap(([uid, json]) => {
    const known = before.get(uid);
    if (known === undefined || known === json) return [];
    return changedFields(readJson(known) as object, readJson(json) as object).map(({ path }) => path);
  });
  return [...new Set(paths)];
}
