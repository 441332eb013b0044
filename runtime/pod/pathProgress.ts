import { isNewer } from "../kubernetes/resourceVersion";

/** How far an event path has come: it delivers hints in the order of the changes that they tell of. */
export class PathProgress {
  /** The latest change that a hint told of. */
  private reached = "";
  /** When a hint came last, on the monotonic clock. */
  private heardAt = Number.NEGATIVE_INFINITY;
  /** Where it was at earlier times, in their order: the first of them is the one that counts. */
  private readonly marks: { readonly at: number; readonly reached: string }[] = [];

  /** A hint has come. @param resourceVersion of what it tells, where it says so */
  reach(resourceVersion?: string): void {
    this.heardAt = performance.now();
    if (resourceVersion !== undefined && isNewer(resourceVersion, this.reached))
      this.reached = resourceVersion;
  }

  /** Keeps in mind where it is now. To be called now and then, with the time that {@link isOver} is going to ask for. */
  mark(before: number): void {
    this.marks.push({ at: performance.now(), reached: this.reached });
    while ((this.marks[1]?.at ?? Number.POSITIVE_INFINITY) <= before) this.marks.shift();
  }

  /** Whether it was beyond this change at that time already, or has been silent since: no hint will tell of it. */
  isOver(resourceVersion: string, before: number): boolean {
    if (this.heardAt <= before) return true;
    const [first] = this.marks;
    return first !== undefined && first.at <= before && !isNewer(resourceVersion, first.reached);
  }
}
