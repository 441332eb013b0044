import * as pulumi from "@pulumi/pulumi";
import type { DataMode } from "./manifests/data";
import type { OutsideManifests } from "./manifests/outside/outside";
import { after, protectedIf, register, registerSet } from "./register";

/** What {@link OutsideEvents} are made from. */
export interface OutsideEventsParts extends OutsideManifests {
  /** The resources that are created before the component and deleted after it: the CRDs, with their operators. */
  readonly needs: readonly pulumi.Resource[];
  /** With "protect", Pulumi refuses to delete the event bus. */
  readonly data: DataMode;
}

/**
 * The path of an event from outside to a custom resource: Argo's event sources, an event bus of its own, a sensor, and the
 * intake. It is created after the CRDs and deleted before them. `Operators` creates this component; users do not.
 */
export class OutsideEvents extends pulumi.ComponentResource {
  /** The event bus of events from outside. */
  readonly eventBus: pulumi.CustomResource;

  constructor(name: string, args: OutsideEventsParts, opts: pulumi.ComponentResourceOptions) {
    super("argosy:index:OutsideEvents", name, {}, opts);
    const child = after({ parent: this }, args.needs);
    const accounts = registerSet(name, args.accounts, child);
    const intake = registerSet(name, args.intake, after(child, accounts));
    const guarded = after({ ...child, ...protectedIf(args.data) }, accounts);
    this.eventBus = register(`${name}-event-bus`, args.eventBus, guarded);
    // A sensor gets only events that are published while the bus knows it, so the sensor is created first and deleted last.
    const onBus = after(after(after(child, accounts), intake), [this.eventBus]);
    const sensor = register(`${name}-sensor`, args.sensor, onBus);
    registerSet(name, args.eventSources, after(after(child, accounts), [sensor]));
    this.registerOutputs();
  }
}
