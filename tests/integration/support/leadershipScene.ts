import assert from "node:assert/strict";
import type { KubernetesObject } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import type { Api } from "./api";
import { ControllerProcess } from "./controllerProcess";
import { configMap, inNamespace } from "./manifests";
import type { Play } from "./operatorEach";
import { TcpProxy } from "./tcpProxy";
import type { ObjectPlan, TestController, TestControllerOptions, TestOperator } from "./testOperator";
import { becomesReady } from "./useOperator";

/** Soon over, for those that wait for its end, and not so soon that a busy machine cannot renew it in time. */
export const LEASE_SECONDS = 10;

/** An operator with controllers that stand for election by its Lease, and a namespace of its objects. */
export class LeadershipScene {
  private readonly cleanUp: (() => Promise<void>)[] = [];

  private constructor(
    readonly operator: TestOperator,
    readonly namespace: string,
  ) {}

  /** Plays a scene with an operator, and ends the controllers of the scene. */
  static async play(operator: TestOperator, play: Play<LeadershipScene>): Promise<void> {
    const namespace = await operator.cluster.api.newNamespace(operator.operator.name);
    const scene = new LeadershipScene(operator, namespace);
    try {
      await play(scene);
    } finally {
      await Promise.all(scene.cleanUp.map((clean) => clean()));
    }
  }

  /** The API as others than the engine use it. */
  get api(): Api {
    return this.operator.cluster.api;
  }

  /** Starts a controller; it watches when this resolves, and may lead a moment later. */
  async start(identity: string, options: TestControllerOptions = {}): Promise<TestController> {
    const controller = await this.operator.start({ leaseSeconds: LEASE_SECONDS, ...options, identity });
    this.cleanUp.push(controller.stop);
    return controller;
  }

  /** Starts a controller, and waits until it leads. */
  async leading(identity: string, options: TestControllerOptions = {}): Promise<TestController> {
    const controller = await this.start(identity, options);
    await eventually(() => assert.ok(controller.controller.isLeading, `${identity} does not lead`));
    return controller;
  }

  /** Starts a controller in a process of its own, and waits until it leads. */
  async leadingProcess(identity: string): Promise<ControllerProcess> {
    const controller = await ControllerProcess.start(this.operator, {
      identity,
      leaseSeconds: LEASE_SECONDS,
    });
    this.cleanUp.push(() => controller.kill());
    await eventually(() => assert.ok(controller.notices.includes("leading"), `${identity} does not lead`));
    return controller;
  }

  /** A bad network to the API server. */
  async proxied(): Promise<TcpProxy> {
    const proxy = await TcpProxy.start(this.operator.connection);
    this.cleanUp.push(() => proxy.stop());
    return proxy;
  }

  /** Creates or changes an object. */
  apply(name: string, plan: ObjectPlan): Promise<KubernetesObject> {
    return this.api.apply(this.operator.object(name, plan, this.namespace));
  }

  /** Waits until an object is ready at its newest generation. */
  ready(name: string): Promise<KubernetesObject> {
    return becomesReady(this.api, this.operator.object(name, {}, this.namespace));
  }

  /** All that the engine may have written. */
  async everything(): Promise<KubernetesObject[]> {
    const { apiVersion, kind } = this.operator.object("any");
    const objects = await this.api.list({ apiVersion, kind }, this.namespace);
    return [...objects, ...(await this.api.list({ apiVersion: "v1", kind: "ConfigMap" }, this.namespace))];
  }

  /** The ConfigMap of a name. */
  here(name: string) {
    return inNamespace(configMap(name), this.namespace);
  }

  /** The data of the ConfigMap of a name. */
  async dataOf(name: string): Promise<unknown> {
    return (await this.api.get(this.here(name)))["data"];
  }
}
