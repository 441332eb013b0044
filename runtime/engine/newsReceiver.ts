// Hands news to what keeps something of an object, and warns; then when/wakeups.ts wakes the objects.
import { dropOldest } from "../base/limits";
import { formatName, nameOf, type ObjectName } from "../base/objects";
import { groupKind, kindKey, type Resource } from "../base/resource";
import type { News } from "../observe/news";
import type { Owner } from "../observe/ownership";
import type { Reconciler } from "../reconcile/reconciler";
import type { ObjectEvent } from "../reconcile/report";
import type { Outbox } from "../report/outbox";
import { contestWarning, cycleWarning, messageWith } from "../report/teller";
import type { Wakeups } from "../when/wakeups";
import type { Dispatcher } from "./dispatch/dispatcher";
import type { EngineOptions } from "./engineOptions";
import type { Orphans } from "./orphans";
import type { StagedRollout } from "./stagedRollout";
import type { Watches } from "./watches";

/** How many Jobs are remembered that have expired. */
const MOST_EXPIRED = 10_000;

/** Hands news to the parts of the engine that keep something of an object, and then wakes the objects that they concern. */
export class NewsReceiver {
  /** The Jobs that have expired, with the uids of their owners. */
  private readonly expired = new Set<string>();

  constructor(
    private readonly parts: {
      readonly resource: Resource;
      readonly watches: Watches;
      readonly wakeups: Wakeups;
      readonly reconciler: Reconciler | Dispatcher;
      readonly outbox: Outbox;
      readonly orphans: Orphans | undefined;
      readonly rollout: StagedRollout | undefined;
      readonly isLeading: () => boolean;
      /** Called when the objects were listed somewhere. */
      readonly onListed: () => void;
      readonly notice: (text: string) => void;
      readonly onChange: EngineOptions["onChange"];
      readonly onGone: EngineOptions["onGone"];
    },
  ) {}

  readonly receive = (news: News): void => {
    this.prepare(news);
    this.warnOf(news, this.parts.wakeups.wakeBy(news));
    if (news.kind === "object changed" && news.isHinted)
      this.parts.onChange?.(news.name, news.resourceVersion);
    if (news.kind === "object gone") this.parts.onGone?.(news.name);
  };

  /** What must be read again before the next run is invalidated, and what is gone is forgotten. */
  private prepare(news: News): void {
    const { isLeading, watches, outbox, reconciler, orphans, rollout, resource, onListed } = this.parts;
    switch (news.kind) {
      case "object gone":
        outbox.dropVerdict(news.uid);
        reconciler.forgetObject(news.name);
        orphans?.gone(news.uid);
        rollout?.stages.forget(news.uid);
        break;
      case "hinted":
      case "requested":
        watches.objects.invalidate(nameOf(news.key));
        break;
      case "taken over":
        watches.invalidate(nameOf(news.key));
        break;
      case "kind listed":
        if (kindKey(news.listed) === kindKey(resource)) onListed();
        break;
      case "term begun":
        if (isLeading()) orphans?.look();
    }
  }

  /** Warns of what no reconcile of an object finds out. @param contested the keys of the objects that are newly contested */
  private warnOf(news: News, contested: readonly string[]): void {
    const { objects } = this.parts.watches;
    if (news.kind === "former kind")
      this.parts.notice(
        `${news.owner}, and perhaps other objects of this kind, have children of this operator, which is now one of ${groupKind(this.parts.resource)}. They stay as they are: no handler is asked about these objects, and they keep the operator's finalizers when they are deleted. To finalize them, give an operator of this name their kind again, or follow https://github.com/argosy-dev/argosy/blob/main/docs/tasks/rename.md#another-kind-under-the-same-name`,
      );
    if (news.kind === "used changed")
      for (const name of contested.map(nameOf)) {
        const uid = objects.uidOf(name);
        if (uid !== undefined) this.warn({ ...name, uid }, cycleWarning(news.what));
      }
    if (news.kind === "child drifted") {
      const { owner, child } = news;
      const isContested = child.isExpiring ? this.hasExpired(owner, child) : contested.length > 0;
      if (isContested) this.warn(owner, contestWarning(child));
    }
  }

  /**
   * Whether a Job of that name had expired before, so that it was created again. Jobs may live for longer than any contest lasts. One
   * that goes with its owner has not expired.
   */
  private hasExpired(owner: Owner, job: ObjectName): boolean {
    const { objects } = this.parts.watches;
    if (!objects.has(owner) || objects.isGoing(owner, owner.uid)) return false;
    const key = `${owner.uid} ${formatName(job)}`;
    if (this.expired.has(key)) return true;
    this.expired.add(key);
    dropOldest(this.expired, MOST_EXPIRED);
    return false;
  }

  /** By an Event, and in the log. */
  private warn(owner: Owner, warning: ObjectEvent): void {
    const { outbox, resource } = this.parts;
    outbox.put(owner, messageWith(warning, owner, resource));
    this.parts.notice(`${formatName(owner)}: ${warning.note}`);
  }
}
