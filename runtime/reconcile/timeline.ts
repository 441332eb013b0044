import { monotonicNow } from "../base/clock";
import { cut } from "../base/text";
import type { ChildVerb } from "../write/childApplier";
import type { ChildChange } from "../write/childWriter";

/** A part of a reconcile that takes time. */
export const STEPS = [
  /** The object is read, from the store of the watch or from the API server. */
  "read",
  /** Finalizers are added to the object, or removed. */
  "finalizer",
  /** The handler is asked, including the wait for a free process. */
  "handler",
  /** One child is written as desired, or deleted. */
  "child",
  /** Children that no watch shows or no owner reference covers are looked for, and deleted. */
  "sweep",
  /** The handler's status fields and the engine's memory are written. */
  "status",
] as const;

/** One of {@link STEPS}. */
export type StepName = (typeof STEPS)[number];

/** The child that a step is about. */
export type StepChild = Omit<ChildChange, "verb">;

/** One step of a reconcile. */
export interface Step {
  readonly name: StepName;
  /** When it began and ended, on the monotonic clock, in milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly child?: StepChild | undefined;
  /** What was done with the child. Undefined if that failed. */
  readonly verb?: ChildVerb | "unchanged" | undefined;
  /** Why the step failed. Undefined if it did not. */
  readonly error?: string | undefined;
}

/** How long a reconcile's steps took. */
export interface ReconcileTiming {
  /** When the reconcile began and ended, on the monotonic clock, in milliseconds. */
  readonly from: number;
  readonly to: number;
  /** In the order in which they ended. */
  readonly steps: readonly Step[];
  /** How many steps were left out, because there were too many. */
  readonly omitted: number;
}

/** The most steps that are kept of a reconcile, and the most of those that changed nothing: it may have thousands of children. */
export const MOST_STEPS = 100;
const MOST_UNCHANGED = 50;
const LONGEST_ERROR = 1024;

/** Notes how long the steps of one reconcile take, in bounded memory. */
export class Timeline {
  private readonly steps: Step[] = [];
  private omitted = 0;
  private unchanged = 0;
  private readonly from: number;

  /** @param now a monotonic clock, in milliseconds */
  constructor(private readonly now: () => number = monotonicNow) {
    this.from = now();
  }

  /**
   * Does a step, and notes how long it took and whether it failed.
   * @param isWorth whether a step that succeeded is noted at all. @default always
   * @param child the child that is made as desired. What was done is noted too, by the verb of the step's result
   * @throws what the step throws
   */
  async step<Result>(
    name: StepName,
    action: () => Promise<Result>,
    isWorth?: (result: Result) => boolean,
    child?: StepChild,
  ): Promise<Result> {
    const from = this.now();
    const about = { name, from, ...(child && { child }) };
    try {
      const result = await action();
      const { verb = "unchanged" } = (result ?? {}) as { readonly verb?: ChildVerb };
      if (isWorth?.(result) ?? true) this.keep({ ...about, to: this.now(), ...(child && { verb }) });
      return result;
    } catch (thrown) {
      const error = cut(thrown instanceof Error ? thrown.message : String(thrown), LONGEST_ERROR);
      this.keep({ ...about, to: this.now(), error });
      throw thrown;
    }
  }

  /** The steps until now. */
  timing(): ReconcileTiming {
    const { from, steps, omitted } = this;
    return { from, to: this.now(), steps, omitted };
  }

  private keep(step: Step): void {
    const isUnchanged = step.verb === "unchanged";
    const hasRoom = this.steps.length < MOST_STEPS && !(isUnchanged && this.unchanged >= MOST_UNCHANGED);
    // There are few steps that are not about a child, and each shows where time was spent.
    if (hasRoom || step.name !== "child") this.steps.push(step);
    else this.omitted++;
    if (isUnchanged) this.unchanged++;
  }
}
