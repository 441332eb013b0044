import { childKey, shortName } from "../children/childOrder";
import type { Child, ChildStore } from "../children/childStore";
import { whyNotReady } from "../children/readiness";
import type { HandlerEvent } from "../handler/contract";
import { readInParts } from "../kubernetes/list";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Progress } from "../memory/rememberedChildren";
import type { Verdict } from "../status/conditions";
import { GivenChildren } from "./givenChildren";
import type { ReconcileReport } from "./report";

/** What {@link ObservedChildren} work with. */
export interface ObservedChildrenOptions {
  readonly children: ChildStore;
  /** Whether a known child is still followed: see `Completeness`. @default all are */
  readonly isFollowed?: ((child: Child) => boolean) | undefined;
}

/** How an object's children are. */
export interface Judgement
  extends Required<Pick<ReconcileReport, "ready" | "unready" | "children" | "waits">> {
  /** Whether they are ready, and none waits for another. */
  readonly verdict: Verdict;
}

/** The children of one custom resource as they are now: given to the handler, and judged. Writes nothing. */
export class ObservedChildren {
  constructor(private readonly options: ObservedChildrenOptions) {}

  /**
   * The object's children as they are. A request to finalize leaves out those that are no longer followed. Otherwise a handler that
   * waits for its children to go would wait for one that went with its namespace.
   */
  async observe(object: KubernetesObject, event: HandlerEvent = "reconcile"): Promise<GivenChildren> {
    const { isFollowed = () => true } = this.options;
    const given = new GivenChildren();
    const isMeant = (child: Child) => event === "reconcile" || isFollowed(child);
    for await (const state of this.read(object, isMeant)) given.take(state);
    return given;
  }

  /** Judges the children as they are now. */
  async judge(object: KubernetesObject, { waiting, going, ready }: Progress): Promise<Judgement> {
    const reasons: string[] = [];
    const expected = new Set(waiting.map(childKey));
    let count = 0;
    // The children are not kept: together they may be large, and others may have written into them since the handler was asked.
    for await (const state of this.read(object)) {
      const why = whyNotReady(state);
      if (why) reasons.push(`${state.kind} ${state.metadata.name} ${why}`);
      expected.add(childKey({ resource: state, manifest: state }));
      count++;
    }
    const unready = reasons.length;
    // We have deleted it, and no watch has shown yet that it is still there.
    for (const { resource, manifest } of [...going].filter((child) => !expected.has(childKey(child)))) {
      reasons.push(`${manifest.kind} ${manifest.metadata.name} is being deleted`);
      expected.add(childKey({ resource, manifest }));
    }
    for (const { manifest, after = [] } of waiting) {
      const names = after
        .filter((key) => !ready.has(key))
        .map((key) =>
          expected.has(key) ? shortName(key) : `${shortName(key)}, which is gone and is not created again`,
        );
      reasons.push(`${manifest.kind} ${manifest.metadata.name} waits for ${names.join(", ")}`);
    }
    return {
      verdict:
        reasons.length === 0 ? { kind: "ready" } : { kind: "progressing", message: reasons.join("; ") },
      ready: reasons.length === 0,
      unready,
      children: { ready: count - unready, total: expected.size },
      waits: waiting.length > 0,
    };
  }

  /** The object's children as they are, few of them in memory at once. */
  private async *read(
    object: KubernetesObject,
    isMeant: (child: Child) => boolean = () => true,
  ): AsyncGenerator<KubernetesObject> {
    const { children: store } = this.options;
    const children = store.of(object.metadata.uid).filter(isMeant);
    for await (const [, state] of readInParts(children, (each) => store.read(each))) yield state;
  }
}
