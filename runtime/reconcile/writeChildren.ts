import { inApplyOrder } from "../children/applyOrder";
import type { WriteScope } from "../children/childApplier";
import { childKey, contentOf } from "../children/childOrder";
import type { Child, ChildStore } from "../children/childStore";
import type { ChildChange, ChildWriter } from "../children/childWriter";
import type { DesiredChild } from "../children/desiredChildren";
import { whyNotReady } from "../children/readiness";
import { ReconcileFailure } from "../failure";
import type { KubernetesClient } from "../kubernetes/client";
import { isRace } from "../kubernetes/conflicts";
import { isTaken } from "../kubernetes/errors";
import { type KubernetesObject, kindAndName } from "../kubernetes/objects";
import { isSameMemory, type Memory } from "../memory/memory";
import { type Progress, wasReady, withoutChild } from "../memory/rememberedChildren";
import type { ObservedChildrenOptions } from "./observedChildren";
import type { Sweep } from "./sweep";
import type { StepChild, Timeline } from "./timeline";

/** What {@link writeChildren} works with. */
export interface WritingOptions extends Pick<ObservedChildrenOptions, "isFollowed"> {
  readonly children: ChildStore;
  readonly writer: ChildWriter;
  readonly sweep: Sweep;
  /** Writes the memory of an object. @default nothing is remembered */
  readonly remember?: (client: KubernetesClient, object: KubernetesObject, memory: Memory) => Promise<void>;
}

/** On whose behalf children are written: see `Reconciliation`. */
export interface ChildrenScope extends WriteScope {
  /** The client for children for which nothing in the reconcile waits. */
  readonly unhurried: KubernetesClient;
  readonly timeline: Timeline;
}

/** What was done with the children in an answer. */
export interface Written {
  /** Every change that was made, also if a later one failed. */
  readonly changes: readonly ChildChange[];
  readonly progress: Progress;
  /** The memory of the object from before, without children that were deleted to be created again. */
  readonly memory: Memory;
  /** Set if not everything was applied that should be applied now. */
  readonly failure?: { readonly error: unknown };
}

/**
 * Writes the children of one custom resource as the handler answered them, and deletes all others. Throws nothing: the result has
 * the failure.
 *
 * Guarantees, each with a test in tests/unit/reconcile.test.ts:
 * - Every change that was made is reported, even if a sibling failed.
 * - Nothing is deleted if a child could not be written.
 *
 * @param memory of the object, from before
 */
export function writeChildren(
  options: WritingOptions,
  object: KubernetesObject,
  desired: readonly DesiredChild[],
  memory: Memory,
  scope: ChildrenScope,
): Promise<Written> {
  return new Writing(options, object, desired, memory, scope).run();
}

/** One write of the children of one object, and how far it has come. */
class Writing {
  private readonly changes: ChildChange[] = [];
  private progress: Progress = { waiting: [], going: new Set(), ready: new Map() };

  constructor(
    private readonly options: WritingOptions,
    private readonly object: KubernetesObject,
    private readonly desired: readonly DesiredChild[],
    private memory: Memory,
    private readonly scope: ChildrenScope,
  ) {}

  async run(): Promise<Written> {
    try {
      await this.deletePredecessors();
      await this.applyInOrder();
      await this.prune();
      await this.deleteUndeclared();
    } catch (error) {
      return { ...this.result(), failure: { error: this.withUnwanted(error) } };
    }
    return this.result();
  }

  private result(): Written {
    const { changes, progress, memory } = this;
    return { changes, progress, memory };
  }

  /** Applies the children that wait for nothing, and then those that waited for them. */
  private async applyInOrder(): Promise<void> {
    const ready = new Map<string, string>();
    const going = new Set<DesiredChild>();
    let waiting = this.desired;
    for (;;) {
      // A child that is as desired waits for nothing, even if the child after which it came is not ready now.
      const isFree = (child: DesiredChild) =>
        (child.after ?? []).every((key) => ready.has(key)) || this.options.writer.isDone(child);
      const free = new Set(waiting.filter(isFree));
      waiting = waiting.filter((child) => !free.has(child));
      this.progress = { waiting, going, ready };
      if (free.size === 0) return;
      await this.apply([...free], going);
      for (const child of free)
        if (child.isAwaited && (await this.isReady(child))) ready.set(childKey(child), contentOf(child));
    }
  }

  /** @param going gets the children of which an old one is being deleted */
  private async apply(children: readonly DesiredChild[], going: Set<DesiredChild>): Promise<void> {
    const { writer } = this.options;
    const { scope } = this;
    const groups = inApplyOrder(children);
    for (const group of groups) {
      // Nothing in this reconcile waits for its last group. So in that group, children that are ready at once let Deployments go
      // first, its own and those of other objects.
      const isLast = group === groups.at(-1);
      const scopeOf = (child: DesiredChild): WriteScope => {
        const isUnhurried = isLast && whyNotReady(child.manifest) === undefined;
        const { namespace, masked, confirmOwner } = scope;
        const client = isUnhurried ? scope.unhurried : scope.client;
        const beforeReplacement = () => this.beforeReplacement(child);
        return { client, namespace, masked, confirmOwner, beforeReplacement };
      };
      const apply = async (child: DesiredChild) => {
        if (writer.known(child)?.deleting && !child.isCreated) going.add(child);
        const change = await writer.apply(child, scopeOf(child));
        if (change?.verb === "deleted") going.add(child);
        return change;
      };
      await this.all(group.map((child) => scope.timeline.child(named(child), () => apply(child))));
    }
  }

  private async beforeReplacement(child: DesiredChild): Promise<void> {
    const memory = withoutChild(this.memory, child);
    if (isSameMemory(memory, this.memory)) return;
    // Before the write, since several children may be replaced at once.
    this.memory = memory;
    await this.options.remember?.(this.scope.client, this.object, memory);
  }

  /**
   * Notes every change, then throws the first error. The reconcile must not end before that: another one of the object would begin
   * while requests are still on their way.
   */
  private async all(changes: readonly Promise<ChildChange | undefined>[]): Promise<void> {
    const results = await Promise.allSettled(changes);
    for (const result of results)
      if (result.status === "fulfilled" && result.value) this.changes.push(result.value);
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  /**
   * Whether a child that was just applied is ready. A child that is not created again was ready before it went, or never will be.
   */
  private async isReady(child: DesiredChild): Promise<boolean> {
    const { children: store, writer } = this.options;
    const known = writer.known(child);
    const object = known && (await store.read(known));
    return object ? whyNotReady(object) === undefined : wasReady(this.memory, child);
  }

  /**
   * Deletes the children of a deleted object with this name. If their owner was deleted and created again while the garbage
   * collector did not watch, the collector never learns that the owner is gone: it sees one change of one object
   * (kubernetes, pkg/controller/garbagecollector/graph_builder.go, UpdateFunc; seen with 1.34). Where a kind or a namespace went,
   * nobody says whether the child went with it: that child waits until it is followed again.
   */
  private async deletePredecessors(): Promise<void> {
    const { children: store, writer, isFollowed = () => true } = this.options;
    const { object, scope } = this;
    const left = store.ofPredecessors(object.metadata).filter(isFollowed);
    if (left.length === 0) return;
    // The object that we hold may itself be the deleted one.
    await scope.confirmOwner();
    await this.all(
      left.map((child) => scope.timeline.child(existing(child), () => writer.deleteOrphan(child, scope))),
    );
  }

  private unwanted(): Child[] {
    const { children: store } = this.options;
    const { object, desired } = this;
    const wanted = new Set(desired.map(({ resource, manifest }) => store.find(resource, manifest.metadata)));
    return store.of(object.metadata.uid).filter((child) => !wanted.has(child) && !child.deleting);
  }

  /** An error, which names a child that is no longer wanted if that child may hold what a new one needs: a quota, or a port. */
  private withUnwanted(error: unknown): unknown {
    if (!(error instanceof ReconcileFailure) || !isTaken(error.cause)) return error;
    const { reason, message, cause } = error;
    const left = this.unwanted();
    const child = left.find(({ resource: { kind } }) => message.includes(` ${kind} `)) ?? left[0];
    if (!child) return error;
    const advice = `Nothing is deleted before every child is written. If ${kindAndName(child.resource.kind, child)}, which the handler no longer returns, is in the way, delete it by hand.`;
    return new ReconcileFailure(reason, `${message} ${advice}`, { cause });
  }

  private async prune(): Promise<void> {
    const { writer } = this.options;
    const { scope } = this;
    await this.all(
      this.unwanted().map((child) =>
        scope.timeline
          .child(existing(child), () => writer.delete(child, scope))
          .catch((error: unknown) => {
            // Somebody else writes the child all the time. The child's next report leads to another try, and the rest does not
            // wait.
            if (isRace(error)) return undefined;
            throw error;
          }),
      ),
    );
  }

  /** Deletes the children of kinds that are no longer declared. */
  private async deleteUndeclared(): Promise<void> {
    const { object, scope, memory, changes } = this;
    const { sweep } = this.options;
    const before = changes.length;
    const sweeping = () => sweep.deleteUndeclared(scope.client, object, memory.kinds, changes);
    const left = await scope.timeline.step("sweep", sweeping, () => changes.length > before);
    this.progress = { ...this.progress, left };
  }
}

function named({ resource: { apiVersion, kind }, manifest: { metadata } }: DesiredChild): StepChild {
  return { apiVersion, kind, namespace: metadata.namespace, name: metadata.name };
}

function existing({ resource: { apiVersion, kind }, namespace, name }: Child): StepChild {
  return { apiVersion, kind, namespace, name };
}
