// Children of objects that are gone, if the garbage collector has not deleted them.
import { dropOldest } from "../base/limits";
import { OWNER_UID_LABEL, SKIP_FINALIZE_ANNOTATION } from "../base/names";
import { formatName, type ObjectName } from "../base/objects";
import type { WorkResult } from "../base/turn";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError } from "../kubernetes/errors";
import { named } from "../kubernetes/list";
import type { Child, ChildStore } from "../observe/childStore";
import type { KnownUids } from "../observe/customResources";
import { canReference, type Owner } from "../observe/ownership";
import { Workers } from "../when/workers";
import { WorkQueue } from "../when/workQueue";
import type { ChildWriter, Orphan } from "../write/childWriter";

/** How long the garbage collector has for the children of an object, in milliseconds. */
const GRACE_MS = 5_000;
/** If this many tries have failed, a notice says so. The API server is often away for a moment. */
const TRIES_UNTOLD = 5;
/** How many owners' children are deleted at once. Otherwise one webhook that hangs would hold up all of them. */
const CONCURRENCY = 8;
/** How many children are remembered that are left on purpose, and of how many a notice has said that. */
const MOST_REMEMBERED = 10_000;
/**
 * How much earlier than the end of its owner a late write may seem to have created a child, in milliseconds. `creationTimestamp` has
 * whole seconds, and a watch shows an end some time later.
 */
const LATE_MS = 5_000;

/**
 * Deletes the children of objects that are gone, if the garbage collector has not. The collector looks for new kinds every 30
 * seconds. If the owner's kind came and went between two looks, the collector never deletes the children: it cannot ask for an
 * owner of a kind that it does not know (kubernetes, pkg/controller/garbagecollector/garbagecollector.go, getObject; seen with 1.34:
 * "unable to get REST mapping").
 *
 * Children that no owner reference covers are left, and a notice says so. Their owner keeps a finalizer until they are deleted. If
 * it went before them, a user decided that, by an annotation or by removing the finalizer. But the late write of a former leader
 * is deleted. Such a child belongs to an owner whose children this process has all deleted, or it is not older than its owner's
 * end and was unknown when a watch showed that end.
 *
 * A deletion that a watch reports is only a hint, by which the children go soon. {@link look} finds all children that are left,
 * whenever their owners went: when a term begins, and in each resync.
 *
 * Guarantees (tests/unit/orphans.test.ts):
 * - The children of objects that are gone are deleted after the grace, and no others, also if an object went while no process led.
 *   If that fails, it is tried again until it succeeds. One that fails or takes long holds up no other.
 * - Children that no owner reference covers stay, and a notice says so once. Late writes are the exception. A child that was known
 *   when its owner went counts as one only if this process has deleted all children of that owner, whatever the clocks of the API
 *   servers say.
 * - An owner that no watch shows counts as gone if the API server lists no object with its uid. If we cannot list the owner's
 *   kind, the owner counts as gone only after a watch has shown that it went.
 * - A term that has ended deletes nothing.
 */
export class Orphans {
  private readonly queue = new WorkQueue();
  private readonly workers: Workers;
  private client: KubernetesClient | undefined;
  /** The uids of the children of which a notice has said that they are left on purpose. */
  private readonly told = new Set<string>();
  /** The uids of the children that no owner reference covers and that were known when their owner went. */
  private readonly meant = new Set<string>();

  constructor(
    private readonly options: {
      readonly store: ChildStore;
      readonly writer: ChildWriter;
      /** The objects that own children, as the watches know them. */
      readonly objects: KnownUids;
      /** Whether a watch would show an object of that name. */
      readonly wouldShow: (name: ObjectName) => boolean;
      /** Whether a known child is still followed. If not, no watch says whether the child is gone: see `Completeness`. */
      readonly isFollowed: (child: Child) => boolean;
      /** Takes the values of Secrets out of a text. */
      readonly masked: (text: string) => string;
      /** Called with a notice about children that are left after several tries, or on purpose. */
      readonly notice: (text: string) => void;
    },
  ) {
    this.workers = new Workers({
      queue: this.queue,
      concurrency: CONCURRENCY,
      work: (uid, attempt) => this.deleteChildren(uid, attempt),
      onFault: (uid, frames) => options.notice(`deleting the children of ${uid} failed: ${frames}`),
    });
  }

  /** A term begins: deletes with this client, which is fenced by the term. */
  open(client: KubernetesClient): void {
    this.client = client;
    this.workers.start();
  }

  /** The term ended. */
  discard(): void {
    this.workers.pause();
    this.queue.clear();
    this.client = undefined;
  }

  /** A watch shows that the object with that uid went. */
  gone(ownerUid: string): void {
    for (const child of this.options.store.of(ownerUid)) if (!isCovered(child)) this.meant.add(child.uid);
    dropOldest(this.meant, MOST_REMEMBERED);
    this.enqueue(ownerUid, GRACE_MS);
  }

  /** Looks for children whose owners are probably gone. @param afterMs how long the garbage collector has for them */
  look(afterMs = GRACE_MS): void {
    if (!this.client) return;
    const { store, objects, wouldShow } = this.options;
    for (const owner of store.owners(({ uid }) => !this.told.has(uid))) {
      if (objects.hasUid(owner.uid)) continue;
      // No watch shows the owner, although one should. The child's watch may be ahead of the owner's.
      if (objects.removedAt(owner.uid) !== undefined || wouldShow(owner)) this.enqueue(owner.uid, afterMs);
    }
  }

  /** Stops waiting for the garbage collector. Resolves when everything that is left was tried once more. */
  async end(): Promise<void> {
    this.look(0);
    await this.workers.idle();
  }

  private enqueue(ownerUid: string, afterMs: number): void {
    if (!this.client) return;
    this.queue.add(ownerUid, { priority: "routine", afterMs, endsBackoff: true });
    this.workers.wake();
  }

  private async deleteChildren(ownerUid: string, attempt: number): Promise<WorkResult> {
    const { store, isFollowed, masked, notice } = this.options;
    const { ownerKind } = store;
    // Where a kind or a namespace went, perhaps no watch showed that the child went with it.
    const isLeft = (child: Child) => !child.deleting && isFollowed(child) && !this.told.has(child.uid);
    const left = store.of(ownerUid).filter(isLeft);
    const owner = left[0]?.facts.owner;
    if (!this.client || !owner) return { kind: "done" };
    const client = this.client.with({ flow: ownerUid });
    const name = `${ownerKind.kind} ${formatName(owner)}`;
    let failing = `children of ${name} still exist, and Argosy cannot find out whether ${name} does`;
    try {
      // The children are read after that. By then, the collector has removed the owner references of those that are to stay.
      if (!(await this.isGone(owner, client))) return { kind: "done" };
      failing = `${name} is gone, and its children could not be deleted`;
      const results = await Promise.allSettled(left.map((child) => this.deleteUnlessMeant(child, client)));
      const meant = left.filter((_, index) => {
        const result = results[index];
        return result?.status === "fulfilled" && result.value;
      });
      if (meant.length > 0) this.leave(owner, meant);
      const failed = results.find(({ status }) => status === "rejected");
      if (failed) throw (failed as PromiseRejectedResult).reason;
      return { kind: "done" };
    } catch (error) {
      if (attempt === TRIES_UNTOLD)
        notice(`${failing}: ${masked((error as Error).message)}. This is tried again until none is left.`);
      return { kind: "failed" };
    }
  }

  /** @returns whether the child is meant to stay. If not, it is gone now, or no longer that owner's */
  private async deleteUnlessMeant(child: Child, client: KubernetesClient): Promise<boolean> {
    const { writer } = this.options;
    // The watch may be late: the finalizer may just have deleted the child.
    const orphan = await writer.readOrphan(child, { client });
    if (!orphan) return false;
    if (!isCovered(orphan) && !this.isLate(orphan)) return true;
    await writer.delete(orphan, { client });
    return false;
  }

  /** Whether a child is the late write of a former leader, and was not left on purpose. */
  private isLate({ uid, creationTimestamp, facts: { owner } }: Orphan): boolean {
    const { store, objects } = this.options;
    if (store.wasEmptied(owner.uid)) return true;
    if (this.meant.has(uid)) return false;
    const removedAt = objects.removedAt(owner.uid);
    return removedAt !== undefined && Date.parse(creationTimestamp ?? "") > removedAt - LATE_MS;
  }

  /** Says that these children of an owner that is gone are left. */
  private leave(owner: Owner, children: readonly Child[]): void {
    const { store, notice } = this.options;
    const { ownerKind } = store;
    for (const { uid } of children) this.told.add(uid);
    dropOldest(this.told, MOST_REMEMBERED);
    notice(
      `${ownerKind.kind} ${formatName(owner)} is gone, and children that no owner reference covers are left: ${children.length}. Its finalizer was removed before they were deleted, as with ${SKIP_FINALIZE_ANNOTATION}, or a former leader created them too late. If they may not stay, delete them by hand: they have the label ${OWNER_UID_LABEL}=${owner.uid}.`,
    );
  }

  /** Whether no object has the owner's uid any more. False also if that is not known. */
  private async isGone({ uid, namespace, name }: Owner, client: KubernetesClient): Promise<boolean> {
    const { store, objects } = this.options;
    const { ownerKind } = store;
    if (objects.hasUid(uid)) return false;
    try {
      // Two answers, since nothing brings the children back. A list alone may come from a cache that is behind.
      let isThere = false;
      const selection = { namespace, ...named(name), metadataOnly: true };
      const version = await client.list(ownerKind, selection, (found) => {
        isThere ||= found.some(({ metadata }) => metadata.uid === uid);
      });
      // Every list of objects with uids has a version. What has none comes from a proxy before the API server.
      if (isThere || version === "") return false;
      return (await client.get(ownerKind, { namespace, name }))?.metadata.uid !== uid;
    } catch (error) {
      const mayNotBeListed = error instanceof ApiError && [403, 404].includes(error.code);
      if (!mayNotBeListed) throw error;
      return objects.removedAt(uid) !== undefined;
    }
  }
}

/** Whether the owner is named by an owner reference, so that the garbage collector should delete the child too. */
function isCovered({ namespace, facts: { owner } }: Child): boolean {
  return canReference({ metadata: owner }, namespace);
}
