import type { WarningReason } from "../failure";
import { MOST_GIVEN_BYTES } from "../handler/contract";
import { jsonOf } from "../json/flaw";
import { type KubernetesObject, kindAndName } from "../kubernetes/objects";
import { TRUNCATED_ANNOTATION } from "../names";

/** A child, or the part of it that is given. */
interface Given {
  child: KubernetesObject;
  /** Of its JSON. */
  bytes: number;
  /** How many of {@link CUTS} were made. */
  cuts: number;
}

/** By this annotation a handler tells a child that was cut from one that has no other fields. */
const TRUNCATED = { [TRUNCATED_ANNOTATION]: "true" };
/** What is given of a child that is too large, and then, if its metadata is too large, of its metadata. */
const CUTS: readonly ((child: KubernetesObject) => KubernetesObject)[] = [
  ({ apiVersion, kind, metadata }) => ({
    apiVersion,
    kind,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...TRUNCATED } },
  }),
  ({ apiVersion, kind, metadata }) => {
    const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
    const named = { name, ...(namespace !== undefined && { namespace }), uid, resourceVersion };
    const times = {
      ...(creationTimestamp && { creationTimestamp }),
      ...(deletionTimestamp && { deletionTimestamp }),
    };
    return { apiVersion, kind, metadata: { ...named, ...times, annotations: TRUNCATED } };
  },
];
/** How many children the warning names. */
const MOST_NAMED = 10;

/**
 * The children that a handler is given in one request. If they are too large together, the largest is cut, again and again until the
 * rest has room. What others write into children must not keep a handler from being asked.
 *
 * Guarantee (tests/unit/observedChildren.test.ts): they are never larger than that, also while more are taken.
 */
export class GivenChildren {
  private readonly given: Given[] = [];
  private bytes = 0;

  take(child: KubernetesObject): void {
    const bytes = bytesOf(child);
    this.given.push({ child, bytes, cuts: 0 });
    this.bytes += bytes;
    while (this.bytes > MOST_GIVEN_BYTES && this.cutLargest()) {}
  }

  /** In the order in which they were taken. */
  get children(): KubernetesObject[] {
    return this.given.map(({ child }) => child);
  }

  /** A warning if children were cut. */
  get warnings(): { readonly reason: Extract<WarningReason, "ChildrenTooLarge">; readonly note: string }[] {
    const names = this.given
      .filter(({ cuts }) => cuts > 0)
      .map(({ child: { kind, metadata } }) => kindAndName(kind, metadata));
    if (names.length === 0) return [];
    const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
    const note = `the object's children have more than ${MOST_GIVEN_BYTES / 1024 / 1024} MiB of JSON in all, so the handler is given only the metadata of the largest: ${names.slice(0, MOST_NAMED).join(", ")}${more}. Remove what others wrote into them, or return smaller children.`;
    return [{ reason: "ChildrenTooLarge", note }];
  }

  /** @returns whether there was something to cut */
  private cutLargest(): boolean {
    let largest: Given | undefined;
    for (const each of this.given)
      if (each.cuts < CUTS.length && each.bytes > (largest?.bytes ?? 0)) largest = each;
    const cut = largest && CUTS[largest.cuts];
    if (!largest || !cut) return false;
    this.bytes -= largest.bytes;
    largest.child = cut(largest.child);
    largest.bytes = bytesOf(largest.child);
    largest.cuts++;
    this.bytes += largest.bytes;
    return true;
  }
}

function bytesOf(child: KubernetesObject): number {
  return Buffer.byteLength(jsonOf(child) ?? "");
}
