import type { ObjectName } from "../kubernetes/objects";
import { isNewer } from "../kubernetes/resourceVersion";
import { keyOf, nameOf } from "../objectKey";
import { PathProgress } from "./pathProgress";

/** How {@link Announcements} are compared, and whom it tells. */
export interface AnnouncementsOptions {
  /** How long either of the two may come before the other while the event path is not behind, in milliseconds. */
  readonly withinMs: number;
  /** By which of several event paths, that know nothing of one another, an object's hints come. @default one for all */
  readonly pathOf?: (name: ObjectName) => string;
  /** So many objects have changed, and no hint will tell of it. */
  readonly onMissing: (objects: number) => void;
}

/** What is open of one object. */
interface Open {
  /** On the monotonic clock. */
  readonly since: number;
  /** The newest change that the watch told of and no hint yet; undefined where a hint came first. */
  readonly changed?: string;
  /** What that hint told of; undefined where it did not say. */
  readonly hinted?: string | undefined;
}

/** Objects with something open; beyond it the oldest are forgotten, uncounted. */
const MOST_OPEN = 10_000;

/**
 * Compares what the watch tells with what hints tell. A change comes by both ways, by the watch nearly always first:
 * its hint is then no news. A change for which no hint comes shows that events are lost.
 *
 * In a storm hints come minutes late. They come in the order of the changes, so that one is given up only when a hint
 * of a later change has come and it has not, or when none of any object comes at all.
 */
export class Announcements {
  /** In the order of `since`. */
  private readonly open = new Map<string, Open>();
  private readonly paths = new Map<string, PathProgress>();
  private readonly sweep: NodeJS.Timeout;

  constructor(private readonly options: AnnouncementsOptions) {
    this.sweep = setInterval(() => this.expire(), options.withinMs / 6).unref();
  }

  /** The watch told of a change, with that version of the object. */
  changed(name: ObjectName, resourceVersion: string): void {
    const key = keyOf(name);
    const known = this.open.get(key);
    const isHinted =
      known &&
      known.changed === undefined &&
      (known.hinted === undefined || !isNewer(resourceVersion, known.hinted));
    if (isHinted) this.open.delete(key);
    else if (known?.changed === undefined) this.put(key, { changed: resourceVersion });
    // The time of the first is kept.
    else this.open.set(key, { ...known, changed: resourceVersion });
  }

  /**
   * A hint came.
   * @param resourceVersion the version that it tells of, where it says so
   * @returns whether the watch had told of a change that no hint had told of yet
   */
  hinted(name: ObjectName, resourceVersion?: string): boolean {
    this.path(name).reach(resourceVersion);
    const key = keyOf(name);
    const changed = this.open.get(key)?.changed;
    if (changed === undefined) this.put(key, { hinted: resourceVersion });
    else if (resourceVersion === undefined || !isNewer(changed, resourceVersion)) this.open.delete(key);
    // Of an object that changes faster than hints come, the newest is awaited from now on.
    else this.put(key, { changed });
    return changed !== undefined;
  }

  /** The object is gone: nobody will hint at it any more. */
  gone(name: ObjectName): void {
    this.open.delete(keyOf(name));
  }

  /** Counts what no hint will tell of any more, and forgets it. Done now and then by itself. */
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

  /** Nothing is compared any more. */
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

  /** As of now, and so as the last one. */
  private put(key: string, open: Omit<Open, "since">): void {
    this.open.delete(key);
    this.open.set(key, { ...open, since: performance.now() });
    const [oldest] = this.open.keys();
    if (this.open.size > MOST_OPEN && oldest !== undefined) this.open.delete(oldest);
  }
}
