import assert from "node:assert/strict";
import type { KubernetesObject } from "../../../runtime/base/objects";
import type { Reference } from "../../../tools/objects";
import { eventually, type Patience } from "../../support/eventually";
import type { Api } from "./api";
import { ApiProxy, type ProxiedRequest } from "./apiProxy";
import type { Play } from "./operatorEach";
import type { TestController, TestOperator } from "./testOperator";
import { answering, becomesReady } from "./useOperator";

/** How long the work in progress may take when a scene has ended: the API server may be kept from answering it. */
export const GRACE_MS = 1_000;

/** An operator whose engine reaches the API server through a proxy, which can be busy. */
export class BusyScene {
  private constructor(
    readonly operator: TestOperator,
    readonly engine: TestController,
    readonly proxy: ApiProxy,
    readonly namespace: string,
  ) {}

  /** Starts the engine of an operator, and plays a scene with it when it leads. */
  static async play(operator: TestOperator, play: Play<BusyScene>): Promise<void> {
    const { api, connection } = operator.cluster;
    const namespace = await api.newNamespace(operator.operator.name);
    const proxy = await ApiProxy.start(connection);
    const engine = operator.launch({ connection: proxy.through(operator.connection) });
    try {
      await engine.started;
      await eventually(() => assert.ok(engine.controller.isLeading, "does not lead"));
      await play(new BusyScene(operator, engine, proxy, namespace));
    } finally {
      await engine.stop(GRACE_MS);
      await proxy.stop();
    }
  }

  /** The API as others than the engine use it. */
  get api(): Api {
    return this.operator.cluster.api;
  }

  /** Whether a request writes a child. */
  isChildWrite({ method, path }: ProxiedRequest): boolean {
    return method === "PATCH" && path.includes(`/namespaces/${this.namespace}/configmaps/`);
  }

  /** How many writes of children have come to the proxy. */
  childWrites(): number {
    return this.proxy.requests.filter((request) => this.isChildWrite(request)).length;
  }

  /** Creates or changes an object whose handler answers these children. */
  apply(name: string, ...children: object[]): Promise<KubernetesObject> {
    return this.api.apply(this.operator.object(name, answering(...children), this.namespace));
  }

  /** Waits until an object is ready at its newest generation. */
  async ready(name: string, patience?: Patience): Promise<void> {
    await becomesReady(this.api, this.operator.object(name, {}, this.namespace) as Reference, patience);
  }
}
