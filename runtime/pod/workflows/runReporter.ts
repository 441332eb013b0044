import type { Operator } from "../../definition/definition";
import type { ReconcileFailure } from "../../failure";
import type { KubernetesClient } from "../../kubernetes/client";
import { conditionsIn, type KubernetesObject, type ObjectName } from "../../kubernetes/objects";
import type { Resource } from "../../kubernetes/resource";
import { conditionsOfObject } from "../../memory/memoryKind";
import type { MemoryObjects } from "../../memory/memoryObjects";
import { fieldManagerOf } from "../../names";
import { EventWriter } from "../../outbox/eventWriter";
import { withRun } from "../../status/conditions";
import { StatusWriter } from "../../status/statusWriter";
import { clean } from "../../text/clean";
import { type ReadMemories, readMemories } from "../withoutWatches/readMemories";

/** The reporter, and the objects on which it reports. */
export interface RunReporterOptions {
  readonly operator: Operator;
  /** The custom resource's kind. */
  readonly resource: Resource;
  readonly client: KubernetesClient;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
  /** The pod's name, for Kubernetes Events. */
  readonly instance: string;
}

/** Reports the results of runs that cannot report themselves. */
export class RunReporter {
  private readonly status: StatusWriter;
  private readonly events: EventWriter;
  /** The memories in which verdicts about objects that we do not own are written. Undefined if we own the objects. */
  private readonly memoryObjects:
    | { readonly memories: MemoryObjects; readonly known: ReadMemories }
    | undefined;

  constructor(private readonly options: RunReporterOptions) {
    const { operator, resource, client, namespace, instance } = options;
    const controller = fieldManagerOf(operator);
    this.status = new StatusWriter({ resource, fieldManager: controller });
    this.events = new EventWriter({ controller, instance, onDrop: () => {} });
    if (!operator.watch) return;
    this.memoryObjects = readMemories({ client, operator, resource, namespace });
  }

  /**
   * Writes the verdict and an Event, unless the object has that verdict already.
   * @param run the name of the Workflow
   * @returns whether it was written
   * @throws ApiError, ApiUnreachableError
   */
  async report(
    about: ObjectName & { readonly uid: string },
    run: string,
    failure: ReconcileFailure,
  ): Promise<boolean> {
    const { client, resource } = this.options;
    const object = await client.get(resource, about);
    if (object?.metadata.uid !== about.uid) return false;
    const { generation = 1 } = object.metadata;
    if (await this.isSaid(object, withRun(clean(failure.message), run))) return false;
    const change = { verdict: { verdict: { kind: "failed", failure }, generation, run } } as const;
    if (this.memoryObjects) await this.memoryObjects.memories.write(client, about, change);
    else await this.status.write(client, object, change);
    const event = { type: "Warning", reason: failure.reason, note: failure.message, run } as const;
    await this.events.write(client, object, event);
    return true;
  }

  /** Whether Ready has this message about the object's generation. */
  private async isSaid(object: KubernetesObject, message: string): Promise<boolean> {
    const { uid, generation = 1 } = object.metadata;
    const conditions = this.memoryObjects
      ? conditionsOfObject((await this.memoryObjects.known.read(uid))[0])
      : conditionsIn(object["status"]);
    return conditions.some(
      (each) => each.type === "Ready" && each.message === message && each.observedGeneration === generation,
    );
  }
}
