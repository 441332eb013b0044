import type { KubernetesObject } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import {
  ChildStore,
  ChildWriter,
  DirectUse,
  type GatheredUse,
  type GivenChildren,
  gatherUsed,
  givenChildren,
  type HandlerEvent,
  type KubernetesClient,
  type Memory,
  memoryOf,
  type Operator,
  ReadMemories,
  Sweep,
  type WritingOptions,
} from "../../runtime/cli";
import type { ListedChildren } from "./listedChildren";

/** What an {@link Observation} is made with. */
export interface ObservationOptions {
  /** The operator, with the names and the kind that it has in the cluster. */
  readonly operator: Operator;
  /** The custom resource's kind, and its children's, as the API serves them. */
  readonly resource: Resource;
  readonly childResources: readonly Resource[];
  readonly client: KubernetesClient;
  /** The namespace of the Memory objects of an operator that watches others' objects. */
  readonly home: string;
  /** Where used objects are read. @default the API server */
  readonly source?: DirectUse | undefined;
}

/** One object, and everything else that its handler gets, read from a cluster by the engine's own steps, without a watch. */
export class Observation {
  /** With these parts the children are made as the handler answers them. */
  readonly writing: WritingOptions;
  private readonly source: DirectUse;

  /** @param listed children, of which the object's own are chosen */
  constructor(
    private readonly options: ObservationOptions,
    private readonly object: KubernetesObject,
    listed: ListedChildren,
  ) {
    const { operator, resource: ownerKind, childResources, client } = options;
    const store = new ChildStore({ client, operator, ownerKind });
    const writer = new ChildWriter(store);
    for (const { resource, child } of listed.near(object)) store.learn(resource, [child]);
    const sweep = new Sweep({ operator, childResources, children: store, writer });
    const remember = async () => {};
    this.writing = { children: store, writer, sweep, remember, isFollowed: () => true };
    this.source = options.source ?? new DirectUse(operator, client);
  }

  /** The object's children as its handler is given them, and a warning if some are cut. */
  children(): Promise<Pick<GivenChildren, "children" | "warnings">> {
    return givenChildren(this.writing.children, this.writing.isFollowed, this.object);
  }

  /** The engine's memory of the object. */
  async memory(): Promise<Memory> {
    const { operator, resource, client, home: namespace } = this.options;
    if (!operator.watch) return memoryOf(this.object);
    return new ReadMemories({ client, operator, resource, namespace }).of(this.object);
  }

  /**
   * The objects that the object uses.
   * @throws ReconcileFailure, StillListingError, ApiError
   */
  used(event: HandlerEvent): Promise<GatheredUse> {
    return gatherUsed(this.options.operator, this.object, event, this.source);
  }
}
