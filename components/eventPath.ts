// Event bus, sensor, event source.
import * as pulumi from "@pulumi/pulumi";
import type { DataMode } from "./manifests/data";
import type { EventPathManifests } from "./manifests/eventPath/eventPath";
import { after, protectedIf, register, registerSet } from "./register";

/** What an {@link EventPath} is made from. */
export interface EventPathArgs extends EventPathManifests {
  /** With "protect", Pulumi refuses to delete the event bus. */
  readonly data: DataMode;
}

/**
 * The path of an event from the Kubernetes API to the operators: one EventBus, and one EventSource and one Sensor that all
 * operators share. There are more of them only if one would be too large. A keeper replaces their pods after the bus was
 * replaced. `Operators` creates this component; users do not.
 */
export class EventPath extends pulumi.ComponentResource {
  /** The EventBus. */
  readonly eventBus: pulumi.CustomResource;
  /** The Sensors, which send events to the operators. */
  readonly sensors: readonly pulumi.CustomResource[];
  /** The EventSources, which watch custom resources. */
  readonly eventSources: readonly pulumi.CustomResource[];

  constructor(name: string, args: EventPathArgs, opts: pulumi.ComponentResourceOptions) {
    super("argosy:index:EventPath", name, {}, opts);
    const child = { parent: this };
    const nameOf = (part: string, index: number) => `${name}-${part}${index === 0 ? "" : `-${index + 1}`}`;

    const accounts = registerSet(name, args.accounts, child);
    const guarded = after({ ...child, ...protectedIf(args.data) }, accounts);
    this.eventBus = register(`${name}-event-bus`, args.eventBus, guarded);
    // A sensor receives only events that are published while it listens. So it is created before the event sources and deleted
    // after them.
    const onBus = after(after(child, accounts), [this.eventBus]);
    this.sensors = args.shards.map(({ sensor }, index) => register(nameOf("sensor", index), sensor, onBus));
    const onSensors = after(after(child, accounts), this.sensors);
    this.eventSources = args.shards.map(({ eventSource }, index) =>
      register(nameOf("event-source", index), eventSource, onSensors),
    );
    registerSet(name, args.keeper, after(child, this.eventSources));
    this.registerOutputs();
  }
}
