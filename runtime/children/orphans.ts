import type { KubernetesClient } from "../kubernetes/client";
import type { WorkResult } from "../work/backoff";
import { Schedule } from "../work/schedule";
import { Workers } from "../work/workers";
import type { ChildStore } from "./childStore";
import type { ChildWriter } from "./childWriter";

/** What {@link Orphans} work with. */
export interface OrphansOptions {
  readonly store: ChildStore;
  readonly writer: ChildWriter;
}

/** How long the garbage collector has for the children of an object, in milliseconds. */
const GRACE_MS = 5_000;
const MOST_TRIES = 5;

/**
 * Deletes the children of objects that were deleted, if the garbage collector has not. The collector looks for new kinds
 * every 30 seconds. If the owner's kind came and went between two looks, the collector never deletes the children: it cannot
 * ask for an owner of a kind that it does not know (kubernetes, pkg/controller/garbagecollector/garbagecollector.go,
 * getObject; seen with 1.34: "unable to get REST mapping"). It also never deletes children that no owner reference covers.
 *
 * Guarantee (tests/unit/orphans.test.ts): the children of deleted objects are deleted after the grace, and no others. A term
 * that has ended deletes nothing.
 */
export class Orphans {
  private readonly schedule = new Schedule();
  private readonly workers: Workers;
  /** The deleted objects whose children have not been looked at yet, by uid. */
  private readonly waiting = new Set<string>();
  private client: KubernetesClient | undefined;

  constructor(private readonly options: OrphansOptions) {
    this.workers = new Workers({
      schedule: this.schedule,
      concurrency: 1,
      work: (uid, attempt) => this.deleteChildren(uid, attempt),
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
    this.schedule.clear();
    this.waiting.clear();
    this.client = undefined;
  }

  /** A watch said that the object with that uid was deleted. */
  add(ownerUid: string): void {
    if (!this.client) return;
    this.schedule.add(ownerUid, { priority: "routine", afterMs: GRACE_MS });
    this.waiting.add(ownerUid);
    this.workers.wake();
  }

  /** Stops waiting for the garbage collector. Resolves when nothing is left to be done. */
  async end(): Promise<void> {
    for (const uid of this.waiting) this.schedule.add(uid, { priority: "routine" });
    this.workers.wake();
    await this.workers.idle();
  }

  private async deleteChildren(ownerUid: string, attempt: number): Promise<WorkResult> {
    const { client } = this;
    const { store, writer } = this.options;
    const left = store.of(ownerUid).filter(({ deleting }) => !deleting);
    if (client) {
      const results = await Promise.allSettled(left.map((child) => writer.deleteOrphan(child, { client })));
      const isFailed = results.some(({ status }) => status === "rejected");
      if (isFailed && attempt < MOST_TRIES) return { kind: "failed" };
    }
    this.waiting.delete(ownerUid);
    return { kind: "done" };
  }
}
