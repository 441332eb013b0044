import assert from "node:assert/strict";
import {
  conditionsIn,
  type Json,
  type JsonObject,
  type KubernetesObject,
  type Manifest,
} from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import type { Api } from "./api";
import { configMap, deployment, inNamespace } from "./manifests";
import type { ObjectPlan, TestController, TestOperator, TestOperatorOptions } from "./testOperator";
import { type Installations, useOperators } from "./useOperators";

/** What tests work with whose operators watch objects that others own. */
export class Watching {
  private operators = 0;

  constructor(private readonly bench: Installations) {}

  /** The API as others than the engine use it. */
  get api(): Api {
    return this.bench.api;
  }

  /** A namespace of this test alone. */
  get namespace(): string {
    return this.bench.namespace;
  }

  /** Installs an operator that watches Deployments with a label of its own. */
  install(more: Partial<TestOperatorOptions> = {}): Promise<TestOperator> {
    const name = `watch-${process.pid}-${++this.operators}`;
    const watch = { apiVersion: "apps/v1", kind: "Deployment", labels: { "example.com/by": name } };
    return this.bench.install({ name, watch, ...more });
  }

  /** A user's Deployment that the operator watches. */
  watched(operator: TestOperator, name: string, spec: JsonObject = {}): Promise<KubernetesObject> {
    const labels = { ...operator.operator.watch?.labels };
    return this.api.apply(this.here(deployment(name, spec, { labels })));
  }

  /** A manifest in the test's namespace. */
  here(manifest: Manifest): Manifest {
    return inNamespace(manifest, this.namespace);
  }

  /** A ConfigMap in the test's namespace. */
  configMap(name: string, data = {}): Manifest {
    return this.here(configMap(name, data));
  }

  /** Starts a controller. Resolves when it leads. */
  async leading(operator: TestOperator): Promise<TestController> {
    const running = await operator.start();
    await eventually(() => assert.ok(running.controller.isLeading, "does not lead"));
    return running;
  }

  /** What the operator remembers of an object. */
  memory(
    operator: TestOperator,
    object: KubernetesObject,
  ): Promise<KubernetesObject & { memory: JsonObject }> {
    return this.api.get(operator.memoryOf(object)) as Promise<KubernetesObject & { memory: JsonObject }>;
  }

  /** Waits until the last verdict about the object is that it is ready. */
  settled(operator: TestOperator, object: KubernetesObject) {
    return eventually(async () => {
      const kept = await this.memory(operator, object);
      assert.equal(conditionsIn(kept["status"])[0]?.status, "True", JSON.stringify(kept["status"]));
      return kept;
    });
  }

  /** Takes the labels away by which the operator selects the object. */
  unlabel(operator: TestOperator, object: KubernetesObject): Promise<unknown> {
    const labels = Object.keys(operator.operator.watch?.labels ?? {}).map((label) => [label, null]);
    return this.api.patch(object, { metadata: { labels: Object.fromEntries(labels) } });
  }
}

/** The plan of a handler that answers these children, and perhaps a state. */
export function saying(children: Manifest[], state?: JsonObject): ObjectPlan {
  return { answer: { children: children as unknown as Json[], ...(state && { state }) } };
}

/** Lets each test of a suite install operators that watch. */
export function useWatching(): Watching {
  return new Watching(useOperators([]));
}
