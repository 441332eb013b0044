import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { childrenOf } from "./handler/children";
import type { ChaosSpec, Trouble, Wish } from "./spec";

/** The expected state of one object. */
export interface Expected {
  readonly spec: ChaosSpec;
  /** Whether another client has put a condition into its status. */
  readonly foreignCondition: boolean;
}

/** Something happened that must never happen. */
export interface Violation {
  readonly object: string;
  readonly what: string;
}

/** The expected state after everything has settled: the changes that the API server has accepted, and nothing else. */
export class Model {
  private readonly all = new Map<string, Expected>();
  private others: readonly KubernetesObject[] = [];
  private readonly scalings = new Map<string, string>();
  private readonly broken: Violation[] = [];
  /** The version of the handler's files. */
  version = 1;
  /** Objects that must stay untouched, as they were created. */
  bystanders: readonly KubernetesObject[] = [];

  constructor(
    private readonly namespace: string,
    private readonly far: string,
  ) {}

  get objects(): ReadonlyMap<string, Expected> {
    return this.all;
  }

  /** Objects that other controllers have created and that custom resources control, as they were created. */
  get foreigners(): readonly KubernetesObject[] {
    return this.others;
  }

  /** The violations that were seen on the way. */
  get violations(): readonly Violation[] {
    return this.broken;
  }

  get(name: string): Expected | undefined {
    return this.all.get(name);
  }

  /** The spec of a wish. */
  specOf(wish: Wish, trouble: Trouble | "" = "", until = 0): ChaosSpec {
    return { ...wish, far: wish.far ? this.far : "", trouble, until };
  }

  created(name: string, spec: ChaosSpec): void {
    this.all.set(name, { spec, foreignCondition: false });
  }

  changed(name: string, spec: ChaosSpec): void {
    this.all.set(name, { foreignCondition: false, ...this.all.get(name), spec });
  }

  marked(name: string): void {
    const known = this.all.get(name);
    if (known) this.all.set(name, { ...known, foreignCondition: true });
  }

  foreign(made: KubernetesObject): void {
    this.others = [...this.others, made];
  }

  /** An autoscaler has set its field of the child with that uid. */
  scaled(uid: string, value: string): void {
    this.scalings.set(uid, value);
  }

  /** What an autoscaler's field of the child with that uid must be. Undefined if no autoscaler has set it. */
  scalingOf(uid: string): string | undefined {
    return this.scalings.get(uid);
  }

  /** Records that an object was deleted without its dependents, so that these have no controller any more. */
  released(ownerUid: string): void {
    this.others = this.others.filter((other) => !isControlledBy(other, ownerUid));
  }

  /** Objects that other controllers have created and that the object with that uid controls. */
  foreignersOf(ownerUid: string): KubernetesObject[] {
    return this.others.filter((other) => isControlledBy(other, ownerUid));
  }

  violated(violation: Violation): void {
    this.broken.push(violation);
  }

  deleted(name: string): void {
    this.all.delete(name);
  }

  /** The children that an object must have, each with its namespace. */
  childrenOf(name: string): Manifest[] {
    const spec = this.all.get(name)?.spec;
    if (!spec) return [];
    return childrenOf(name, spec, this.version).map((child) => ({
      ...child,
      metadata: { namespace: this.namespace, ...child.metadata },
    }));
  }
}

function isControlledBy({ metadata }: KubernetesObject, ownerUid: string): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === ownerUid) ?? false;
}
