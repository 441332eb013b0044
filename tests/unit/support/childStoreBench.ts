import assert from "node:assert/strict";
import type {
  KubernetesObject,
  ManagedFieldsEntry,
  Manifest,
  ObjectMeta,
} from "../../../runtime/base/objects";
import { ChildStore } from "../../../runtime/observe/childStore";
import { ownedManifest } from "../../../runtime/observe/marks";
import type { ChildNews } from "../../../runtime/observe/news";
import type { ReflectorSink } from "../../../runtime/observe/reflector";
import { CONFIG_MAPS, configMap, entryOf, IDENTITY, MANAGER, WIDGETS, widget } from "./objects";

/** When we applied. */
export const SECOND = "2026-11-21T10:00:00Z";
/** When others wrote. */
export const LATER = "2026-11-21T10:00:05Z";
/** The name of the child. */
export const NAME = { namespace: "shop", name: "settings" };
/** The manifest of a child that has this data. */
export function manifest(
  data: Record<string, string> = { key: "1" },
  owner = widget(),
  name = "settings",
): Manifest {
  return ownedManifest(configMap({ name }, { data }), owner, CONFIG_MAPS, "argosy.shop");
}

/** The child as the API server has it after we applied the manifest. */
export function child(
  version: number,
  from = manifest(),
  metadata: Partial<ObjectMeta> = {},
): KubernetesObject {
  const { name } = from.metadata;
  const entry = { ...entryOf(from, MANAGER), time: SECOND };
  const more = { uid: `${name}-uid`, resourceVersion: String(version), managedFields: [entry], ...metadata };
  return { ...from, metadata: { ...from.metadata, ...more } };
}

/** The child with entries of others next to ours. */
export function withOthers(object: KubernetesObject, ...others: ManagedFieldsEntry[]): KubernetesObject {
  const { managedFields = [] } = object.metadata;
  return { ...object, metadata: { ...object.metadata, managedFields: [...managedFields, ...others] } };
}

/** The child after another client took "data.key" from us. */
export function taken(version: number, by: string): KubernetesObject {
  const { fieldsV1, ...entry } = entryOf(manifest(), MANAGER);
  const { "f:data": _, ...left } = fieldsV1;
  const ours = { ...entry, time: SECOND, fieldsV1: left };
  const theirs: ManagedFieldsEntry = {
    manager: by,
    operation: "Update",
    time: LATER,
    fieldsV1: { "f:data": {} },
  };
  return child(version, manifest({ key: "theirs" }), { managedFields: [ours, theirs] });
}

/** The entry of a controller that wrote to the status. */
export function statusEntry(time: string): ManagedFieldsEntry {
  return {
    manager: "reporter",
    operation: "Update",
    subresource: "status",
    time,
    fieldsV1: { "f:status": {} },
  };
}

/** A store of children, an API server that answers with one object, and who was told of what. */
export class ChildStoreBench {
  /** "owner-uid" of a report, "owner-uid drifted by MANAGER" of drift. */
  readonly told: string[] = [];
  /** What could not be stored. */
  readonly refused: string[] = [];
  /** Whether a change cannot be told. */
  isFaulty = false;
  /** The object that the API server has. */
  server: KubernetesObject | undefined;
  /** How often it was read. */
  reads = 0;
  readonly store: ChildStore;
  readonly sink: ReflectorSink;

  /** @param mostKept - how many characters of the newest children are kept. @default all of them */
  constructor(mostKept = Number.POSITIVE_INFINITY) {
    this.store = new ChildStore({
      client: {
        get: async () => {
          this.reads++;
          return this.server;
        },
      },
      ownerKind: WIDGETS,
      operator: { ...IDENTITY, formerNames: [] },
      emit: (news) => {
        if (this.isFaulty) throw new Error("a fault");
        this.told.push(described(news as ChildNews));
      },
      onRefused: ({ kind }, { message }) => void this.refused.push(`${kind} ${message}`),
      mostKept,
    });
    this.sink = this.store.sink(CONFIG_MAPS, undefined);
  }

  /** What a list brings. */
  list(version: number, ...items: KubernetesObject[]): void {
    this.sink.listing(false, String(version));
    for (const each of items) this.sink.set(each, true);
    this.sink.listed(String(version));
  }

  /** What the watch brings. */
  watched(object: KubernetesObject): void {
    this.sink.set(object, false);
  }

  /** The child as the store knows it. */
  find() {
    return this.store.find(CONFIG_MAPS, NAME);
  }

  /** Whether the child, which must be known, is as the manifest says. */
  isApplied(wanted = manifest()): boolean {
    const known = this.find();
    assert.ok(known, "the child is not known");
    return this.store.isApplied(known, wanted);
  }

  /** Applies a manifest. @param beforeAnswer what the watch brings before the answer comes */
  async apply(answer: KubernetesObject, beforeAnswer = () => {}, wanted = manifest()): Promise<void> {
    await this.store.write(CONFIG_MAPS, answer.metadata, wanted, async () => {
      beforeAnswer();
      return { object: answer };
    });
  }
}

function described(news: ChildNews): string {
  const { uid } = news.owner;
  if (news.kind === "child reports") return uid;
  if (news.kind === "child progresses") return `${uid} makes progress`;
  if (news.kind === "child gone") return `${uid} has a child gone as we wanted`;
  const { kind, name, by } = news.child;
  return `${uid} ${kind} ${name} drifted${by === undefined ? "" : ` by ${by}`}`;
}
