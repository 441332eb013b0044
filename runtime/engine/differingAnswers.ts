import type { Child } from "../children/childStore";
import type { ChildChange } from "../children/childWriter";
import { flawOf } from "../json/flaw";
import { readJson } from "../json/json";
import { changedFields } from "../kubernetes/changedFields";
import { dropOldest } from "../limits/dropOldest";
import type { ObjectEvent } from "../reconcile/outcome";
import { describeChanges, type ReconcileReport } from "../reconcile/report";
import { cut } from "../text/cut";

/**
 * This many rounds may be well founded: a handler may lead its children step by step, or answer in one child how many replicas of
 * another one are ready.
 */
const MOST_ROUNDS = 20;
/** The Warning is repeated each time that this many rounds have passed, because Kubernetes keeps Events for an hour. */
const REPEAT_ROUNDS = 1_000;
/** The most objects that are counted. If there are more, those that were reconciled last count. */
const MOST_COUNTED = 10_000;
/** The most characters of a Warning that name children, and the most that name fields. An Event has room for about 1,000 in all. */
const LONGEST_LIST = 300;

/** An object of which the last reconciles all changed children without a reason. */
interface Count {
  readonly rounds: number;
  /** What the last one changed. */
  readonly changes: readonly ChildChange[];
  /** The children before the round that is in progress, as JSON, by uid. Undefined unless that round may be one to report. */
  before?: ReadonlyMap<string, string>;
}

/**
 * Finds objects whose handler never gives the same answer twice, for instance because it puts the time into a child. Each answer
 * changes a child, the child reports that, and so the handler is asked again, without end.
 */
export class DifferingAnswers {
  private readonly counts = new Map<string, Count>();

  /** A reconcile of the object begins. @param children of the object as they are now */
  begins(key: string, children: () => readonly Child[]): void {
    const count = this.counts.get(key);
    if (!count) return;
    const next = count.rounds + 1;
    if (next === MOST_ROUNDS || next % REPEAT_ROUNDS === 0) count.before = jsonOf(children());
  }

  /**
   * A reconcile of the object has ended.
   * @param isUndoing whether somebody else had changed a child
   * @param children of the object as they are now
   * @returns a Warning if this round is one to report. Its text may contain values of Secrets
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
    const { rounds, changes: last, before } = this.counts.get(key) ?? { rounds: 0, changes: [] };
    this.counts.delete(key);
    if (arrival?.cause !== "child" || changes.length === 0 || isUndoing) return undefined;
    // Children that wait for each other are changed one after another, although the handler answers the same.
    const isNext = waits && !changes.some((one) => last.some((other) => isSameChild(one, other)));
    this.counts.set(key, { rounds: isNext ? 1 : rounds + 1, changes });
    dropOldest(this.counts, MOST_COUNTED);
    if (!before || isNext) return undefined;
    const fields = cut(fieldsIn(before, jsonOf(children())).join(", "), LONGEST_LIST);
    const what = `${cut(describeChanges(changes, namespace), LONGEST_LIST)}${fields && ` (${fields})`}`;
    const note = `the handler has returned different children ${rounds + 1} times in a row, although only the object's own children had changed: ${what}. If the answer contains the time or a random value, this never ends: let the handler return the same children for the same object`;
    return { type: "Warning", reason: "AnswersDiffer", note };
  }
}

function isSameChild(one: ChildChange, other: ChildChange): boolean {
  return one.kind === other.kind && one.name === other.name && one.namespace === other.namespace;
}

function jsonOf(children: readonly Child[]): ReadonlyMap<string, string> {
  return new Map(children.flatMap(({ uid, json }) => (json === undefined ? [] : [[uid, json] as const])));
}

/** The fields of children that differ, without their values. The name of a field may still be the value of a Secret. */
function fieldsIn(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const paths = [...now].flatMap(([uid, json]) => {
    const known = before.get(uid);
    if (known === undefined || known === json) return [];
    const [was, is] = [readJson(known) as object, readJson(json) as object];
    // Somebody else may have nested more in it than a handler can.
    const isTooDeep = flawOf([was, is]) !== undefined;
    return isTooDeep ? [] : changedFields(was, is).map(({ path }) => path);
  });
  return [...new Set(paths)];
}
