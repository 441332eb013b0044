import type { Operator } from "../../definition/definition";
import { isEmpty, isSelected, type LabelReference, type Reference } from "../../definition/references";
import { selectionsOf, type UsedSelection, useOf } from "../../definition/selections";
import type { KubernetesClient } from "../../kubernetes/client";
import { findResource, isKindMissing } from "../../kubernetes/discovery";
import { isSecretKind } from "../../kubernetes/kinds";
import { named } from "../../kubernetes/list";
import { formatName, type KubernetesObject, type ObjectName } from "../../kubernetes/objects";
import { USED_BY_LABEL } from "../../names";
import { gatherReferences, type Take, type UsedProblem, type UsedSource, whyNotGiven } from "../../uses/used";
import { usedFingerprint } from "../withoutWatches/footprint";
import { Patience } from "../withoutWatches/patience";
import { listByNamespace } from "./listByNamespace";

/** What {@link ListedUse} lists. */
export interface ListedUseOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** Called for each use that could not be listed, or not in one namespace. The objects there count as unchanged. */
  readonly onError: (what: string, error: Error) => void;
  /** How long an API server is waited for that is away or busy. @default half a minute */
  readonly patience?: Patience | undefined;
}

/**
 * The objects that all objects use, as a resync lists them. They show which objects' use has changed since their last run.
 * Secrets that must not be listed are read by name.
 */
export class ListedUse implements UsedSource {
  private readonly objects = new Map<string, Map<string, KubernetesObject>>();
  private readonly missing = new Set<string>();
  /** Where a use could not be listed, by its key. Undefined stands for everywhere. */
  private readonly failed = new Map<string, Set<string | undefined>>();
  private readonly polled = new Map<string, Promise<KubernetesObject | undefined>>();

  private readonly selections: readonly UsedSelection[];

  private constructor(private readonly options: ListedUseOptions) {
    this.selections = selectionsOf(options.operator);
  }

  /** Lists everything. */
  static async of(options: ListedUseOptions): Promise<ListedUse> {
    const listed = new ListedUse(options);
    const { patience = new Patience() } = options;
    for (const selection of listed.selections) {
      try {
        await patience.retried(() => listed.add(selection));
      } catch (error) {
        if (isKindMissing(error)) listed.missing.add(selection.key);
        else listed.fail(selection.key, undefined, error as Error);
      }
    }
    return listed;
  }

  /**
   * A fingerprint of the objects to which an object refers: see {@link usedFingerprint}. Undefined if they are not known.
   * @param name of the object, for people
   */
  async fingerprintOf(
    name: ObjectName,
    references: ReadonlyMap<string, Reference>,
  ): Promise<string | undefined> {
    const { operator } = this.options;
    const needed = [...references].filter(([, reference]) => !isEmpty(reference));
    if (needed.some(([key, { namespace }]) => this.hasFailed(key, namespace))) return undefined;
    try {
      return usedFingerprint((await gatherReferences(operator, references, "reconcile", this)).used);
    } catch (error) {
      this.options.onError(`what ${formatName(name)} uses`, error as Error);
      return undefined;
    }
  }

  async problemOf(key: string): Promise<UsedProblem | undefined> {
    return this.missing.has(key) ? { kind: "missing", message: "" } : undefined;
  }

  async get(key: string, name: ObjectName): Promise<KubernetesObject | undefined> {
    const polled = this.selections.find((each) => each.key === key && each.isPolled);
    if (polled) return this.poll(polled, name);
    const objects = this.objects.get(key);
    return objects?.get(formatName(name)) ?? objects?.get(name.name);
  }

  async list(key: string, reference: LabelReference, take: Take): Promise<void> {
    for (const object of this.objects.get(key)?.values() ?? []) {
      const { namespace, labels } = object.metadata;
      const isHere = namespace === undefined || namespace === reference.namespace;
      if (isHere && isSelected(reference, labels)) take(object);
    }
  }

  private async add(selection: UsedSelection): Promise<void> {
    const { client, operator } = this.options;
    const { key, apiVersion, kind, namespaces, name, labelSelector, isPolled } = selection;
    if (isPolled) return;
    const resource = await findResource(client, apiVersion, kind);
    const objects = this.objects.get(key) ?? new Map<string, KubernetesObject>();
    this.objects.set(key, objects);
    const selected = {
      namespaces,
      labelSelector,
      ...(name && named(name)),
      // Whether a Secret is given depends on its type.
      metadataOnly: !isSecretKind(useOf(operator, key)),
    };
    const take = (items: readonly KubernetesObject[]) => {
      for (const item of items) {
        const trace = this.traceOf(key, item);
        if (trace) objects.set(formatName(item.metadata), trace);
      }
    };
    await listByNamespace(client, resource, selected, take, (namespace, error) =>
      this.fail(key, namespace, error),
    );
  }

  private poll({ key, apiVersion, kind }: UsedSelection, name: ObjectName) {
    const id = `${key} ${formatName(name)}`;
    const known = this.polled.get(id);
    if (known) return known;
    const { client } = this.options;
    const reading = findResource(client, apiVersion, kind)
      .then((resource) => client.get(resource, name))
      .then((found) => found && this.traceOf(key, found));
    this.polled.set(id, reading);
    return reading;
  }

  /**
   * What is needed of an object to see that it is another one, or another version: all objects of a kind are kept so. Undefined if it
   * is a Secret that is not given.
   */
  private traceOf(key: string, object: KubernetesObject): KubernetesObject | undefined {
    const { operator } = this.options;
    const use = useOf(operator, key);
    if (isSecretKind(use) && whyNotGiven(object, use, operator) !== undefined) return undefined;
    const { apiVersion, kind } = object;
    const { namespace, name, uid, resourceVersion, labels = {} } = object.metadata;
    const isNeeded = (label: string) => label === USED_BY_LABEL || Object.hasOwn(use.labels ?? {}, label);
    const needed = Object.entries(labels).filter(([label]) => isNeeded(label));
    const its = { name, uid, resourceVersion, labels: Object.fromEntries(needed) };
    return { apiVersion, kind, metadata: { ...its, ...(namespace !== undefined && { namespace }) } };
  }

  private hasFailed(key: string, namespace: string | undefined): boolean {
    const where = this.failed.get(key);
    return where !== undefined && (where.has(undefined) || where.has(namespace));
  }

  private fail(key: string, namespace: string | undefined, error: Error): void {
    this.failed.set(key, (this.failed.get(key) ?? new Set()).add(namespace));
    const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
    this.options.onError(`what uses.${key} names${where}`, error);
  }
}
