import * as pulumi from "@pulumi/pulumi";
import type { Manifest, Operator } from "../runtime/program";
import { buildEventPathAccounts } from "./manifests/eventPath/accounts";
import { buildEventBus } from "./manifests/eventPath/eventBus";
import { buildEventSource, planEventPath } from "./manifests/eventPath/eventSource";
import { buildKeeper } from "./manifests/eventPath/keeper";
import type { EventPathOptions } from "./manifests/eventPath/options";
import { buildSensor } from "./manifests/eventPath/sensor";
import { after, register, registerSet } from "./register";

/** What an {@link EventPath} is made from. */
export interface EventPathArgs extends EventPathOptions {
  /** The operators whose custom resources it carries the events of. */
  readonly operators: readonly Operator[];
  /** The ConfigMap of the engine, for the keeper. Registered by whoever shares it. */
  readonly engine: Manifest;
  /** Whether Pulumi refuses to delete the event bus. @default false */
  readonly protect?: boolean;
}

/**
 * The way of an event from the Kubernetes API to the operators: one EventBus, and one EventSource and one Sensor that
 * all operators share, or as few as their specifications allow. A keeper sees to it that they survive their bus.
 *
 * @example
 * ```ts
 * const path = new EventPath("argosy", {
 *   name: "argosy",
 *   operators: loadOperators("handlers"),
 *   engine: buildEngineFiles("argosy", "argosy", engineFiles()),
 *   platform: { namespace: "argosy", instanceId: "argosy", jetStreamVersion: "2.10.29" },
 *   placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
 *   eventBus: { replicas: 3, storage: "10Gi" },
 * });
 * ```
 */
export class EventPath extends pulumi.ComponentResource {
  readonly eventBus: pulumi.CustomResource;
  readonly sensors: readonly pulumi.CustomResource[];
  readonly eventSources: readonly pulumi.CustomResource[];

  /** @throws OperatorError, before anything is registered, for an operator that is too large for one Sensor */
  constructor(name: string, args: EventPathArgs, opts?: pulumi.ComponentResourceOptions) {
    const shards = planEventPath(args.operators, args);
    super("argosy:index:EventPath", name, {}, opts);
    const child = { parent: this };
    const guarded = { ...child, protect: args.protect ?? false };

    const accounts = registerSet(name, buildEventPathAccounts(args.operators, args), child);
    this.eventBus = register(`${name}-event-bus`, buildEventBus(args), after(guarded, accounts));
    // A sensor is given only what is published while it listens: it comes first, and goes last.
    this.sensors = shards.map((shard) =>
      register(`${shard.name}-sensor`, buildSensor(shard, args), after(child, [...accounts, this.eventBus])),
    );
    this.eventSources = shards.map((shard) =>
      register(
        `${shard.name}-event-source`,
        buildEventSource(shard, args),
        after(child, [...accounts, ...this.sensors]),
      ),
    );
    registerSet(name, buildKeeper(args, args.engine), after(child, this.eventSources));
    this.registerOutputs({ name: args.name });
  }
}
