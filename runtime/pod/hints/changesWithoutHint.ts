import { isNewer, keyOf, nameOf, type ObjectName } from "../../kubernetes/objects";
import { dropOldest } from "../../limits/dropOldest";
import { PathProgress } from "./pathProgress";

/** How {@link ChangesWithoutHint} are compared, and the callback that they call. */
export interface ChangesWithoutHintOptions {
  /**
   * The longest time between the watch's report of a change and its hint, whichever comes first, while the event path keeps up, in
   * milliseconds.
   */
  readonly withinMs: number;
  /** Which of several independent event paths brings the hints of an object. @default one for all */
  readonly pathOf?: (name: ObjectName) => string;
  /** Called with the number of objects that have changed and for which no hint will come. */
  readonly onMissing: (objects: number) => void;
}

/** What is known so far about one object. */
interface Open {
  /** On the monotonic clock. */
  readonly since: number;
  /** The newest change that the watch reported and no hint has. Undefined if a hint came first. */
  readonly changed?: string;
  /** The version that the hint names. Undefined if the hint names none. */
  readonly hinted?: string | undefined;
}

/** The most objects that are kept. If there are more, the oldest are forgotten and not counted. */
const MOST_OPEN = 10_000;

/**
 * Compares the reports of the watch with hints. Each change comes both ways, and nearly always by the watch first. If no hint
 * comes for a change, events are lost.
 *
 * In a storm hints come minutes late, but in the order of the changes. So a hint counts as lost when a hint of a later change has
 * arrived, or when no hint of any object arrives at all.
 */
export class ChangesWithoutHint {
  /** In the order of `since`. */
  private readonly open = new Map<string, Open>();
  private readonly paths = new Map<string, PathProgress>();
  private readonly sweep: NodeJS.Timeout;

  constructor(private readonly options: ChangesWithoutHintOptions) {
    this.sweep = setInterval(() => this.expire(), options.withinMs / 6).unref();
  }

  /** The watch reported a change, with that version of the object. */
  changed(name: ObjectName, resourceVersion: string): void {
    const key = keyOf(name);
    const known = this.open.get(key);
    const isHinted =
      known &&
      known.changed === undefined &&
      (known.hinted === undefined || !isNewer(resourceVersion, known.hinted));
    if (isHinted) this.open.delete(key);
    else if (known?.changed === undefined) this.put(key, { changed: resourceVersion });
    // The time of the first change is kept.
    else this.open.set(key, { ...known, changed: resourceVersion });
  }

  /**
   * A hint came.
   * @param resourceVersion the version that the hint names, if it names one
   */
  hinted(name: ObjectName, resourceVersion?: string): void {
    this.path(name).reach(resourceVersion);
    const key = keyOf(name);
    const changed = this.open.get(key)?.changed;
    if (changed === undefined) this.put(key, { hinted: resourceVersion });
    else if (resourceVersion === undefined || !isNewer(changed, resourceVersion)) this.open.delete(key);
    // If an object changes faster than hints come, the hint of its newest change is expected from now on.
    else this.put(key, { changed });
  }

  /** The object is gone: no hint about it will arrive. */
  gone(name: ObjectName): void {
    this.open.delete(keyOf(name));
  }

  /** Counts the changes for which no hint will come, and forgets them. It also runs by itself now and then. */
  expire(): void {
    const before = performance.now() - this.options.withinMs;
    for (const path of this.paths.values()) path.mark(before);
    let missing = 0;
    for (const [key, { since, changed }] of this.open) {
      if (since > before) break;
      if (changed !== undefined && !this.path(nameOf(key)).isOver(changed, before)) continue;
      this.open.delete(key);
      if (changed !== undefined) missing++;
    }
    if (missing > 0) this.options.onMissing(missing);
  }

  /** Stops comparing. */
  stop(): void {
    clearInterval(this.sweep);
    this.open.clear();
  }

  private path(name: ObjectName): PathProgress {
    const which = this.options.pathOf?.(name) ?? "";
    const path = this.paths.get(which) ?? new PathProgress();
    this.paths.set(which, path);
    return path;
  }

  /** Sets the entry as of now, and so as the last one. */
  private put(key: string, open: Omit<Open, "since">): void {
    this.open.delete(key);
    this.open.set(key, { ...open, since: performance.now() });
    dropOldest(this.open, MOST_OPEN);
  }
}
