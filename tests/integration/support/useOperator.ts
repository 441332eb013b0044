import assert from "node:assert/strict";
import type { Condition, Json, KubernetesObject } from "../../../runtime/base/objects";
import type { Reference } from "../../../tools/objects";
import { eventually, type Patience } from "../../support/eventually";
import type { Api } from "./api";
import { announceKind, sharedCluster, type TestCluster } from "./cluster";
import {
  customResourceDefinitionOf,
  type ObjectPlan,
  type TestController,
  type TestControllerOptions,
  TestOperator,
  type TestOperatorOptions,
} from "./testOperator";

/** What the tests of a suite work with. */
export class Bench {
  private parts: { operator: TestOperator; engine: TestController; namespace: string } | undefined;

  /** The API as others than the engine use it. */
  get api(): Api {
    return this.now.operator.cluster.api;
  }

  get operator(): TestOperator {
    return this.now.operator;
  }

  /** The controller that runs all the time. */
  get engine(): TestController {
    return this.now.engine;
  }

  /** A namespace of this test alone. */
  get namespace(): string {
    return this.now.namespace;
  }

  /** Creates, or changes, a custom resource in the test's namespace. */
  async applyObject(
    name: string,
    plan: ObjectPlan = {},
    namespace = this.namespace,
  ): Promise<KubernetesObject> {
    return this.api.apply(this.operator.object(name, plan, namespace));
  }

  /** Creates a custom resource, or changes it, and waits until it is ready at that generation. */
  async applied(name: string, plan: ObjectPlan = {}): Promise<KubernetesObject> {
    return this.ready(await this.applyObject(name, plan));
  }

  /** Waits until an object is ready at its newest generation. */
  async ready(object: Reference): Promise<KubernetesObject> {
    return this.withCondition(object, "Ready", "True");
  }

  /** Waits until an object, at its newest generation, is not ready for this reason. */
  async failed(object: Reference, reason: string): Promise<Condition> {
    const failed = await this.withCondition(object, "Ready", "False", reason);
    return conditionOf(failed, "Ready");
  }

  /** The Events about an object, oldest first. */
  async eventsOf(object: Reference): Promise<ObjectEvent[]> {
    const namespace = object.metadata.namespace ?? "default";
    const all = await this.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, namespace);
    return (all as unknown as (ObjectEvent & { regarding: { name: string } })[]).filter(
      ({ regarding }) => regarding.name === object.metadata.name,
    );
  }

  /** The names of the children that the handler has been shown of an object. */
  childrenShown(name: string): string[] {
    const children = this.operator.calls(name).flatMap((call) => call.children);
    return [...new Set(children.map(({ metadata }) => metadata.name))];
  }

  /** The messages of an object's failed reconciles. */
  failuresOf(name: string): string[] {
    return this.engine.reportsOf(name).flatMap(({ failure }) => failure?.message ?? []);
  }

  /** Waits until the engine works on nothing: what it did last has been counted and told. */
  async idle(): Promise<void> {
    const { engine } = this;
    await eventually(async () => {
      assert.equal(await engine.metric("argosy_queue_depth"), 0, "objects wait");
      assert.equal(await engine.metric("argosy_reconciles_active"), 0, "objects are reconciled");
    });
  }

  /** Asks for a reconcile as a user would, and waits for its end. */
  async reconcileAgain(object: Reference): Promise<void> {
    // The report of an earlier reconcile comes after its status.
    await this.idle();
    const reports = () => this.engine.reportsOf(object.metadata.name).length;
    const before = reports();
    await this.api.annotate(object, { "argosy.dev/reconcile-at": String(performance.now()) });
    await eventually(() => assert.ok(reports() > before, "not reconciled again"));
  }

  /** @internal */
  async begin(
    cluster: TestCluster,
    options: TestOperatorOptions,
    controller: TestControllerOptions,
  ): Promise<void> {
    const operator = await TestOperator.install(cluster, options);
    const engine = await operator.start(controller);
    await eventually(() => assert.ok(engine.controller.isLeading, "does not lead"));
    this.parts = { operator, engine, namespace: "" };
  }

  /** @internal */
  async beginTest(): Promise<void> {
    this.parts = { ...this.now, namespace: await this.api.newNamespace(this.operator.operator.name) };
  }

  /** @internal */
  async end(): Promise<void> {
    await this.parts?.operator.dispose();
  }

  private async withCondition(object: Reference, type: string, status: string, reason?: string) {
    return eventually(async () => {
      const now = await this.api.get(object);
      const condition = conditionOf(now, type);
      assert.equal(condition.observedGeneration, now.metadata.generation, "not observed yet");
      assert.equal(condition.status, status, JSON.stringify(condition));
      if (reason !== undefined) assert.equal(condition.reason, reason, JSON.stringify(condition));
      return now;
    });
  }

  private get now() {
    assert.ok(this.parts, "only to be used inside of tests");
    return this.parts;
  }
}

/** What a test reads of a Kubernetes Event. */
export interface ObjectEvent {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
}

/**
 * Installs an operator for the tests of a suite, with a controller that runs from the first to the last of them.
 *
 * @param open gives the control plane, which the caller stops if it is the suite's own. @default the shared one
 */
export function useOperator(
  options: TestOperatorOptions,
  controller: TestControllerOptions = {},
  open: () => Promise<TestCluster> = sharedCluster,
): Bench {
  const bench = new Bench();
  let cluster: TestCluster;
  announceKind(customResourceDefinitionOf(options));
  before(async function () {
    this.timeout(0);
    cluster = await open();
  });
  before(() => bench.begin(cluster, options, controller));
  beforeEach(() => bench.beginTest());
  after(() => bench.end());
  return bench;
}

/** Waits until an object is ready at its newest generation. */
export function becomesReady(api: Api, object: Reference, patience?: Patience): Promise<KubernetesObject> {
  return eventually(async () => {
    const now = await api.get(object);
    const { status, message, observedGeneration } = conditionOf(now, "Ready");
    assert.deepEqual([status, observedGeneration], ["True", now.metadata.generation], message);
    return now;
  }, patience);
}

/** The status of an object that no engine has written: what the installed CRD gives each. */
export const UNTOUCHED = { observedGeneration: 0 };

/** The condition of a type, which must exist. */
export function conditionOf(object: KubernetesObject, type: string): Condition {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: Condition[] };
  const found = conditions.find((condition) => condition.type === type);
  assert.ok(found, `there is no condition ${type}`);
  return found;
}

/** The status of an object, as a test reads it. */
export function statusOf(object: KubernetesObject): Record<string, unknown> {
  return (object["status"] ?? {}) as Record<string, unknown>;
}

/** A plan to answer these children, whether they are as they should be or not. */
export function answering(...children: object[]): ObjectPlan {
  return { answer: { children: children as Json[] } };
}
