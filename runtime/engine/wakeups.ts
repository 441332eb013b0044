import type { ChildNews } from "../children/childNews";
import type { Owner } from "../children/ownership";
import { formatName, keyOf, nameOf, type ObjectName } from "../kubernetes/objects";
import { contestWarning, cycleWarning, messageWith } from "../outbox/message";
import type { ObjectEvent } from "../reconcile/outcome";
import type { UsedChange } from "../uses/usedObjects";
import type { ObjectChange } from "../watch/customResources";
import type { Cause } from "../work/arrivals";
import type { Priority } from "../work/readyKeys";
import type { ClusterListener } from "./clusterListener";
import type { EngineOptions } from "./engineOptions";
import type { Parts, WorkParts } from "./parts";

/**
 * The children of a deleted object are deleted one after another. A single look after this time covers all of them. In
 * milliseconds.
 */
const LEFT_CHILDREN_MS = 1_000;

/** What {@link Wakeups} work with. */
export interface WakeupsOptions extends WorkParts, Pick<EngineOptions, "operator" | "onChange" | "onGone"> {
  /** Whether this process leads. */
  readonly isActive: () => boolean;
}

/** Turns what the watches report into work: which object, and why. `Triggers` say how soon. */
export class Wakeups implements ClusterListener {
  constructor(private readonly options: WakeupsOptions) {}

  private get parts(): Parts {
    return this.options.parts();
  }

  /** Every object that is known now. */
  names(): ObjectName[] {
    return this.parts.watches.names();
  }

  /**
   * A term begins. Another process may have handled the changes that were noted before. A look at every object finds whatever
   * happened since.
   */
  beginTerm(): void {
    this.options.arrivals.clear();
    this.addAll();
  }

  kindListed(): void {
    this.addAll();
  }

  /** Lists everything again, and looks for what objects that are gone have left. */
  async relist(): Promise<void> {
    this.parts.orphans?.look();
    await this.parts.watches.relist();
  }

  /** Reconciles every object that is known now, as routine work. */
  private addAll(): void {
    for (const name of this.names()) this.options.triggers.add(keyOf(name), "routine");
    this.parts.orphans?.look();
  }

  /** Reads an object from the API server and reconciles it soon. @param cause why */
  reread(key: string, cause: Cause): void {
    this.options.arrivals.note(key, cause);
    this.parts.watches.objects.invalidate(nameOf(key));
    this.options.triggers.add(key, "change");
  }

  /** Another process has ended its work on an object. The object and its memory are read, and the object is reconciled soon. */
  takeOver(key: string): void {
    this.parts.watches.invalidate(nameOf(key));
    this.reread(key, "time");
  }

  objectChanged({ name, resourceVersion, isReady, isHinted, isStripped }: ObjectChange): void {
    if (isReady) return this.options.triggers.add(keyOf(name), "routine");
    this.options.arrivals.note(keyOf(name), "watch");
    if (isStripped) return this.options.triggers.stripped(keyOf(name));
    this.options.triggers.add(keyOf(name), "change");
    if (isHinted) this.options.onChange?.(name, resourceVersion);
  }

  objectGone(name: ObjectName, uid: string): void {
    this.options.alarms.set(keyOf(name), undefined);
    this.parts.outbox.forget(uid);
    this.parts.reconciler.forget(name);
    if (this.options.operator.watch) {
      // The object may still be there, and its children with it.
      this.clearUp(keyOf(name), "change");
    } else {
      this.parts.orphans?.gone(uid);
      this.forget(keyOf(name));
      // A run says that the object is gone, if somebody waits for one.
      if (this.options.requests.has(keyOf(name))) this.options.triggers.add(keyOf(name), "change");
    }
    this.options.onGone?.(name);
  }

  memoryLost(name: ObjectName): void {
    if (this.parts.watches.objects.has(name)) this.options.triggers.add(keyOf(name), "routine");
    else this.clearUp(keyOf(name), "routine");
  }

  childChanged(owner: Owner, news: ChildNews): void {
    const { objects } = this.parts.watches;
    if (!objects.has(owner)) {
      // The children of an object that is gone are deleted beside the work. The watch reports an object that is new.
      if (this.options.operator.watch) this.clearUp(keyOf(owner), "routine", LEFT_CHILDREN_MS);
      return;
    }
    this.options.arrivals.note(keyOf(owner), "child");
    if (news.kind === "report" || news.kind === "progress")
      return this.options.triggers.childReported(keyOf(owner), news.kind === "progress");
    // A child that goes with its owner has not drifted: in a foreground deletion it goes first. A new object of the owner's name may
    // wait for the child's name.
    if (news.kind === "gone" || objects.isGoing(owner, owner.uid))
      return this.options.triggers.childGone(keyOf(owner));
    const isNewlyContested = this.options.triggers.childDrifted(keyOf(owner));
    if (isNewlyContested) this.warn(owner, contestWarning(news.child));
  }

  childrenUnserved(owners: readonly Owner[]): void {
    // Each object reports that soon.
    const known = owners.filter((owner) => this.parts.watches.objects.has(owner));
    for (const owner of known) this.options.triggers.add(keyOf(owner), "routine");
  }

  usedChanged({ users, what, isByOperator }: UsedChange): void {
    for (const key of users) this.options.arrivals.note(key, "used");
    for (const key of this.options.triggers.usedChanged(users, isByOperator)) {
      const name = nameOf(key);
      const uid = this.parts.watches.objects.uidOf(name);
      if (uid !== undefined) this.warn({ ...name, uid }, cycleWarning(what));
    }
  }

  /**
   * Queues a reconcile that cleans up after an object that is gone. A standby queues no such objects, since it would never take them
   * out of the queue. A term begins with a look at the objects of which something is left.
   */
  private clearUp(key: string, priority: Priority, afterMs?: number): void {
    if (this.options.isActive()) this.options.triggers.add(key, priority, afterMs);
    else this.forget(key);
  }

  private forget(key: string): void {
    this.options.queue.forget(key);
    this.options.arrivals.forget(key);
  }

  /** Warns of something that no reconcile of the object finds out: by an Event, and in the log. */
  private warn(owner: Owner, warning: ObjectEvent): void {
    const { outbox, resource } = this.parts;
    outbox.put(owner, messageWith(warning, owner, resource));
    this.options.notice(`${formatName(owner)}: ${warning.note}`);
  }
}
