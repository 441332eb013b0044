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
  /** Whether Pulumi refuses to delete the event bus. */
  readonly protect: boolean;
}

/**
 * The way of an event from the Kubernetes API to the operators: one EventBus, and one EventSource and one Sensor that
 * all operators share, or as few as their specifications allow. A keeper sees to it that they survive their bus. A part of
 * `Operators`, not made by users.
 */
export class EventPath extends pulumi.ComponentResource {
  readonly eventBus: pulumi.CustomResource;
  readonly sensors: readonly pulumi.CustomResource[];
  readonly eventSources: readonly pulumi.CustomResource[];

  /** @throws OperatorError, before anything is registered, for an operator that is too large for one Sensor */
  constructor(name: string, args: EventPathArgs, opts: pulumi.ComponentResourceOptions) {
    const shards = planEventPath(args.operators, args).map((shard, index) => ({
      shard,
      prefix: index === 0 ? name : `${name}-${index + 1}`,
    }));
    super("argosy:index:EventPath", name, {}, opts);
    const child = { parent: this };

    const accounts = registerSet(name, buildEventPathAccounts(args.operators, args), child);
    const guarded = after({ ...child, protect: args.protect }, accounts);
    this.eventBus = register(`${name}-event-bus`, buildEventBus(args), guarded);
    // A sensor is given only what is published while it listens: it comes first, and goes last.
    const onBus = after(after(child, accounts), [this.eventBus]);
    this.sensors = shards.map(({ shard, prefix }) =>
      register(`${prefix}-sensor`, buildSensor(shard, args), onBus),
    );
    const onSensors = after(after(child, accounts), this.sensors);
    this.eventSources = shards.map(({ shard, prefix }) =>
      register(`${prefix}-event-source`, buildEventSource(shard, args), onSensors),
    );
    registerSet(name, buildKeeper(args, args.engine), after(child, this.eventSources));
    this.registerOutputs();
  }
}
