import { isNewer } from "../../kubernetes/objects";

/** How far an event path has progressed. It delivers hints in the order of their changes. */
export class PathProgress {
  /** The latest change for which a hint came. */
  private reached = "";
  /** When the last hint came, on the monotonic clock. */
  private heardAt = Number.NEGATIVE_INFINITY;
  /** Earlier positions in the order of time. The first one counts. */
  private readonly marks: { readonly at: number; readonly reached: string }[] = [];

  /** A hint has arrived. @param resourceVersion the version that it names, if it names one */
  reach(resourceVersion?: string): void {
    this.heardAt = performance.now();
    if (resourceVersion !== undefined && isNewer(resourceVersion, this.reached))
      this.reached = resourceVersion;
  }

  /** Remembers the present position. Call it now and then, with the time that {@link isOver} will ask for. */
  mark(before: number): void {
    this.marks.push({ at: performance.now(), reached: this.reached });
    while ((this.marks[1]?.at ?? Number.POSITIVE_INFINITY) <= before) this.marks.shift();
  }

  /**
   * Whether the path had passed this change at that time, or has been silent since. No hint of the change will come
   * then.
   */
  isOver(resourceVersion: string, before: number): boolean {
    if (this.heardAt <= before) return true;
    const [first] = this.marks;
    return first !== undefined && first.at <= before && !isNewer(resourceVersion, first.reached);
  }
}
