import { ReconcileFailure } from "../base/failure";
import { type KubernetesObject, kindAndName } from "../base/objects";
import { isRace, isTaken } from "../kubernetes/errors";
import type { Child } from "../observe/childStore";
import { isSameMemory, type Memory } from "../remember/memory";
import { notKnown, type WriteScope } from "../write/childApplier";
import type { ChildChange } from "../write/childWriter";
import { deleteInOrder, heldUp, isOrdered } from "../write/deletionOrder";
import { childKey, contentOf, type DesiredChild, inApplyOrder } from "../write/desiredChildren";
import { isRefusalOf } from "../write/refusals";
import { type Progress, wasReady, withoutChild } from "./remember";
import type { Parts } from "./run";
import type { Timeline } from "./timeline";

/** What {@link writeChildren} works with. */
export interface WritingOptions extends Pick<Parts, "children" | "writer" | "sweep" | "isFollowed"> {
  /** Writes the memory of the object. */
  readonly remember: (memory: Memory) => Promise<void>;
}

/** On whose behalf children are written. A `Run` is one. */
export interface ChildrenScope extends WriteScope {
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
  readonly failure: { readonly error: unknown } | undefined;
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

/**
 * Deletes the children of a deleted object with this name. If their owner was deleted and created again while the garbage
 * collector did not watch, the collector does not notice that the owner is gone: it sees one change of one object (kubernetes,
 * pkg/controller/garbagecollector/graph_builder.go, UpdateFunc; seen with 1.34). Where a kind or a namespace went, no watch says
 * whether the child went with it: that child waits until it is followed again.
 * @param changes gets each deletion when it is done
 */
export async function deletePredecessors(
  { children, writer, isFollowed }: Omit<WritingOptions, "sweep" | "remember">,
  { metadata }: KubernetesObject,
  scope: ChildrenScope,
  changes: ChildChange[],
): Promise<void> {
  const left = children.ofPredecessors(metadata).filter((child) => !child.deleting && isFollowed(child));
  if (left.length === 0) return;
  // The object that we hold may itself be the deleted one.
  await scope.confirmOwner();
  const deleting = left.map((child) => deleteOne(scope, child, () => writer.deleteOrphan(child, scope)));
  await allOf(deleting, changes);
}

/**
 * Notes every change, then throws the first error. The reconcile must not end before that: another one of the object would begin
 * while requests are still on their way.
 */
async function allOf(
  writing: readonly Promise<ChildChange | undefined>[],
  changes: ChildChange[],
): Promise<void> {
  let failed: PromiseRejectedResult | undefined;
  for (const result of await Promise.allSettled(writing))
    if (result.status === "rejected") failed ??= result;
    else if (result.value) changes.push(result.value);
  if (failed) throw failed.reason;
}

function deleteOne(
  { timeline }: ChildrenScope,
  { resource: { apiVersion, kind }, namespace, name }: Child,
  deletion: () => Promise<ChildChange | undefined>,
) {
  return timeline.step("child", deletion, undefined, { apiVersion, kind, namespace, name });
}

/** One write of the children of one object, and how far it has come. */
class Writing {
  private readonly changes: ChildChange[] = [];
  private waiting: readonly DesiredChild[] = [];
  private readonly going = new Set<DesiredChild>();
  private readonly ready = new Map<string, string>();
  private left: Progress["left"];

  constructor(
    private readonly options: WritingOptions,
    private readonly object: KubernetesObject,
    private readonly desired: readonly DesiredChild[],
    private memory: Memory,
    private readonly scope: ChildrenScope,
  ) {}

  async run(): Promise<Written> {
    let failure: Written["failure"];
    try {
      this.assertShown();
      await deletePredecessors(this.options, this.object, this.scope, this.changes);
      await this.applyInOrder();
      await this.prune();
      if (this.memory.kinds.length > 0) await this.deleteUndeclared();
    } catch (error) {
      failure = { error: this.withUnwanted(error) };
    }
    const { changes, waiting, going, ready, left, memory } = this;
    return { changes, progress: { waiting, going, ready, left }, memory, failure };
  }

  /** @throws ApiError 409 if a watch has shown another child since the handler was asked, which it may have wanted to see */
  private assertShown(): void {
    const { options, object, scope } = this;
    const other = options.children.of(object.metadata.uid).find((child) => scope.isShown?.(child) === false);
    if (other) throw notKnown(other.resource.kind, other);
  }

  /** Applies the children that wait for nothing, and then those that waited for them. */
  private async applyInOrder(): Promise<void> {
    const { ready } = this;
    for (let left = this.desired; ; left = this.waiting) {
      const free: DesiredChild[] = [];
      const waiting: DesiredChild[] = [];
      for (const child of left) {
        // A child that is as desired waits for nothing, even if the child after which it came is not ready now.
        const isFree = !child.after?.some((key) => !ready.has(key)) || this.options.writer.isAsWanted(child);
        (isFree ? free : waiting).push(child);
      }
      this.waiting = waiting;
      if (free.length === 0) return;
      const groups = inApplyOrder(free);
      for (const group of groups) {
        const isLast = group === groups.at(-1);
        const applying = group.map((child) => this.applyOne(child, isLast));
        await allOf(applying, this.changes);
      }
      for (const child of free)
        if (child.isAwaited && (await this.isReady(child))) ready.set(childKey(child), contentOf(child));
    }
  }

  /**
   * @param isLast whether nothing in this reconcile waits for the child's group. Children that are ready at once then let Deployments
   *   go first, the object's own and those of other objects
   */
  private applyOne(child: DesiredChild, isLast: boolean) {
    const { going, options, scope } = this;
    const { writer } = options;
    const { client, namespace, masked, confirmOwner, timeline } = scope;
    const isUnhurried = isLast && options.children.whyNotReady(child.manifest) === undefined;
    const childScope: WriteScope = {
      client: isUnhurried ? client.with({ class: "later" }) : client,
      namespace,
      masked,
      confirmOwner,
      isShown: scope.isShown,
      beforeReplacement: () => this.beforeReplacement(child),
    };
    const apply = async () => {
      if (writer.known(child)?.deleting && !child.isCreated) going.add(child);
      const change = await writer.apply(child, childScope);
      if (change?.verb === "deleted") going.add(child);
      return change;
    };
    const { apiVersion, kind } = child.resource;
    const { metadata } = child.manifest;
    const named = { apiVersion, kind, namespace: metadata.namespace, name: metadata.name };
    return timeline.step("child", apply, undefined, named);
  }

  private async beforeReplacement(child: DesiredChild): Promise<void> {
    const memory = withoutChild(this.memory, child);
    if (isSameMemory(memory, this.memory)) return;
    // Before the write, since several children may be replaced at once.
    this.memory = memory;
    await this.options.remember(memory);
  }

  /**
   * Whether a child that was just applied is ready. A child that is not created again was ready before it went, or never will be.
   */
  private async isReady(child: DesiredChild): Promise<boolean> {
    const { children: store, writer } = this.options;
    const known = writer.known(child);
    const object = known && (await store.readChild(known));
    return object ? store.whyNotReady(object) === undefined : wasReady(this.memory, child);
  }

  /** The children that are no longer wanted, with those that are being deleted. */
  private unwanted(): Child[] {
    const { children: store, isFollowed } = this.options;
    const { object, desired, scope } = this;
    const wanted = new Set(desired.map(({ resource, manifest }) => store.find(resource, manifest.metadata)));
    // Where a kind or a namespace went, no watch says that a child is gone.
    const isThere = (child: Child) => !wanted.has(child) && (!child.deleting || isFollowed(child));
    // The handler may want a child that it was not shown. The watch that brought the child leads to another question.
    const isShown = (child: Child) => scope.isShown?.(child) !== false;
    return store.of(object.metadata.uid).filter((child) => isThere(child) && isShown(child));
  }

  /**
   * An error, which names a child that is no longer wanted if that child may hold what a new one of its kind needs: a quota, or a port.
   */
  private withUnwanted(error: unknown): unknown {
    if (!(error instanceof ReconcileFailure) || !isTaken(error.cause)) return error;
    const { reason, message } = error;
    const child = this.unwanted().find(
      ({ resource: { kind }, deleting }) => !deleting && isRefusalOf(kind, message),
    );
    if (!child) return error;
    const advice = `Nothing is deleted before every child is written. If ${kindAndName(child.resource.kind, child)}, which the handler no longer returns, is in the way, delete it by hand.`;
    return new ReconcileFailure(reason, `${message} ${advice}`, error);
  }

  /** Deletes the children that are no longer wanted. One that another of them follows goes when the other is gone. */
  private async prune(): Promise<void> {
    const { writer } = this.options;
    const { scope } = this;
    const ifRace = (error: unknown) => {
      // Another client keeps writing the child. Its next report leads to another try, and the rest does not wait.
      if (!isRace(error)) throw error;
      return undefined;
    };
    await deleteInOrder(
      () => this.unwanted(),
      (next, unwanted) => {
        const isAwaited = heldUp(unwanted).length > 0;
        const remove = (child: Child) => writer.delete(child, scope, isAwaited && isOrdered(child));
        const removing = next.map((child) => deleteOne(scope, child, () => remove(child)).catch(ifRace));
        return allOf(removing, this.changes);
      },
    );
  }

  /** Deletes the children of kinds that are no longer declared. */
  private async deleteUndeclared(): Promise<void> {
    const { object, scope, memory, changes } = this;
    const { sweep } = this.options;
    const before = changes.length;
    const sweeping = () => sweep.deleteUndeclared(scope.client, object, memory.kinds, changes);
    this.left = await scope.timeline.step("sweep", sweeping, () => changes.length > before);
  }
}
