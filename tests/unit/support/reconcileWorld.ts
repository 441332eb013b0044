import { finalizerOf } from "../../../runtime/base/names";
import type { KubernetesObject, ObjectMeta } from "../../../runtime/base/objects";
import type { Resource } from "../../../runtime/base/resource";
import type { TraceContext } from "../../../runtime/base/traceContext";
import type { Cause } from "../../../runtime/base/turn";
import type { DueSchedule, HandlerQuestion } from "../../../runtime/handler/contract";
import { NotLeadingError } from "../../../runtime/leadership/term";
import type { ChildStore } from "../../../runtime/observe/childStore";
import { Reconciler } from "../../../runtime/reconcile/reconciler";
import type { Outcome } from "../../../runtime/reconcile/report";
import type { ReconcilerOptions } from "../../../runtime/reconcile/run";
import { StatusMemories, StatusWriter } from "../../../runtime/remember/statusMemories";
import type { ChildWriter } from "../../../runtime/write/childWriter";
import { childrenIn, retain } from "./fakeChildren";
import { FakeCluster } from "./fakeCluster";
import {
  CLUSTER_ROLES,
  CONFIG_MAPS,
  configMap,
  IDENTITY,
  MANAGER,
  operator,
  WIDGETS,
  widget,
} from "./objects";

const NAME = { namespace: "shop", name: "widget" };

/** The finalizer for the handler. */
export const FINALIZER = finalizerOf(IDENTITY);
/** The finalizer for children that no owner reference covers. */
export const ELSEWHERE = finalizerOf(IDENTITY, "elsewhere");
/** The finalizer for children that are deleted in an order. */
export const ORDER = finalizerOf(IDENTITY, "order");
/** A time of deletion. */
export const DELETED = "2026-01-01T00:00:00Z";
/** Options with an operator that finalizes. */
export const finalizing = { operator: operator({ finalize: true }) };

/** Custom resources of which each is read so. @param isShown whether their watch shows them */
export function reading(
  readToReconcile: ReconcilerOptions["objects"]["readToReconcile"],
  isShown = false,
): ReconcilerOptions["objects"] {
  return {
    readToReconcile,
    learn: () => {},
    invalidate: () => {},
    isGoing: () => false,
    isShown: () => isShown,
  };
}

/** One object, its handler and a cluster of its own, for {@link Reconciler}. */
export class ReconcileWorld {
  readonly cluster = new FakeCluster();
  /** What the handler answers. */
  answer: Record<string, unknown> = { children: [configMap()] };
  /** What the handler logs. */
  log = "the handler's log";
  /** What happens while a question waits for a process. */
  whileWaiting: () => void = () => {};
  /** What happens while the handler is asked. */
  whileAsking: () => void = () => {};
  /** What the handler was asked. */
  readonly questions: HandlerQuestion[] = [];
  /** Whether an answer is a step too. */
  tellsAnswer = false;
  /** Schedules that a user starts. */
  byHand: DueSchedule[] = [];
  /** Whether the watch says that the object is gone. */
  isGoing = false;
  /** Whether the watch shows the object, whatever a read says. */
  isShown = false;
  isLeading = true;
  trace: TraceContext | undefined;
  /** Why the runs begin. Undefined: it was not noted. */
  cause: Cause | undefined;
  /** What was learned from the answers to writes. */
  readonly learned: KubernetesObject[] = [];
  /** The values in the handler's environment that must not be reported, in base64. */
  readonly hidden: string[] = [];
  /** How often the object was found outdated. */
  invalidated = 0;
  readonly children: ChildStore;
  private readonly writer: ChildWriter;
  private last: Reconciler | undefined;

  /** @param options how the children are kept */
  constructor(options: Parameters<typeof childrenIn>[1] = {}) {
    ({ store: this.children, writer: this.writer } = childrenIn(this.cluster, options));
  }

  /** Puts the custom resource there. */
  given(metadata: Partial<ObjectMeta> = {}, content: object = {}): void {
    this.cluster.put(widget(metadata, content));
  }

  /** Lets the watches of these kinds of children see everything in the cluster. */
  seeChildren(resources: readonly Resource[]): void {
    for (const resource of resources) this.children.learn(resource, this.cluster.ofKind(resource.kind));
    const there = resources.flatMap(({ kind }) => this.cluster.ofKind(kind));
    retain(
      this.children,
      there.map(({ metadata }) => metadata.uid),
    );
  }

  /** The custom resource as it is now. */
  object(): KubernetesObject | undefined {
    return this.cluster.find("Widget", NAME);
  }

  /** The custom resource's status. */
  status(): Record<string, unknown> {
    return (this.object()?.["status"] ?? {}) as Record<string, unknown>;
  }

  /** The one that has reconciled last. */
  get reconciling(): Reconciler {
    if (!this.last) throw new Error("nothing was reconciled");
    return this.last;
  }

  /** Reconciles the custom resource once more, by the one that has reconciled last. */
  reconcileAgain(): Promise<Outcome> {
    return this.run(this.reconciling);
  }

  /** Reconciles the custom resource. */
  async reconcile(more: Partial<ReconcilerOptions> = {}): Promise<Outcome> {
    const { cluster, children, writer } = this;
    const learn = (object: KubernetesObject) => void this.learned.push(object);
    this.last = new Reconciler({
      operator: operator(),
      resource: WIDGETS,
      childResources: [CONFIG_MAPS, CLUSTER_ROLES],
      pool: {
        hidden: () => this.hidden,
        ask: async (question, assertWanted) => {
          this.whileWaiting();
          assertWanted?.();
          cluster.steps.push(`ask ${question.event}`);
          this.questions.push(question);
          this.whileAsking();
          const { answer, log } = this;
          return { answer, length: JSON.stringify(answer).length, log };
        },
      },
      objects: {
        readToReconcile: async (name) => cluster.find("Widget", name),
        learn,
        invalidate: () => void this.invalidated++,
        isGoing: () => this.isGoing,
        isShown: () => this.isShown,
      },
      children,
      writer,
      memories: new StatusMemories(new StatusWriter({ resource: WIDGETS, fieldManager: MANAGER }), {
        read: async (name) => cluster.find("Widget", name),
        learn,
        invalidate: () => void this.invalidated++,
      }),
      used: async () => ({ used: {}, warnings: [], secrets: [] }),
      whyNot: () => undefined,
      whyUnknown: () => undefined,
      ...more,
    });
    return this.run(this.last);
  }

  private run(reconciling: Reconciler): Promise<Outcome> {
    const { cluster } = this;
    const onAnswer = () => void cluster.steps.push("leave");
    return reconciling.reconcile(NAME, 1, {
      client: cluster.client(),
      fence: () => {
        if (!this.isLeading) throw new NotLeadingError();
      },
      startedByHand: this.byHand,
      trace: this.trace,
      ...(this.tellsAnswer && { onAnswer }),
      ...(this.cause && { arrival: { cause: this.cause, readyAt: 0, takenAt: 0 } }),
    });
  }
}
