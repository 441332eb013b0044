import { OWNER_RANGE_LABEL, ownerRangeOf } from "../../../runtime/base/names";
import type { JsonObject, KubernetesObject } from "../../../runtime/base/objects";
import { COMPARED, type Ground, HOME, ROLE } from "./scenarios";

/** What changes from run to run, and says nothing of what was done. */
const LEFT_OUT = /^(resourceVersion|generation|observedGeneration|time|\w+(Time|Timestamp))$/;
/** A uid as a real API server gives it. That of the memory's says which object of its name it is, so it is compared. */
const RANDOM = /^[0-9a-f]{8}-/;

/**
 * Every object of a scenario, by its name: content, marks, owners, finalizers, status, who owns which field. Without versions and
 * times, and with names in the place of random uids.
 */
export async function snapshotOf(ground: Ground): Promise<Record<string, unknown>> {
  // Not in the whole cluster: other tests keep thousands of objects there.
  const places = [ground.namespace, ground.far, HOME];
  const lists = COMPARED.flatMap((kind) =>
    kind === ROLE
      ? [ground.objects.list(kind)]
      : places.map((namespace) => ground.objects.list(kind, namespace)),
  );
  const all = (await Promise.all(lists)).flat().filter((object) => isOf(object, ground));
  const names = new Map(
    all
      .filter(({ metadata }) => RANDOM.test(metadata.uid))
      .map((object) => [object.metadata.uid, nameOf(object)]),
  );
  return Object.fromEntries(all.map((object) => [nameOf(object), plain(object, names)]).sort());
}

function isOf({ metadata }: KubernetesObject, { namespace, far, operator }: Ground): boolean {
  if (metadata.name === "kube-root-ca.crt") return false;
  const places = [namespace, far];
  return places.includes(metadata.namespace ?? "") || metadata.name.includes(operator);
}

function nameOf({ kind, metadata: { namespace = "", name } }: KubernetesObject): string {
  return `${kind} ${namespace}/${name}`;
}

function plain(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") {
    let text = value;
    for (const [uid, name] of names) text = text.replaceAll(uid, `uid of ${name}`);
    return text;
  }
  if (Array.isArray(value))
    return value
      .map((each) => plain(each, names))
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as JsonObject).filter(([key]) => !LEFT_OUT.test(key));
  return Object.fromEntries(
    entries
      .map(([key, inner]): [string, unknown] => {
        const ofOwner = key === OWNER_RANGE_LABEL && [...names].find(([uid]) => ownerRangeOf(uid) === inner);
        return [String(plain(key, names)), ofOwner ? "range of an owner" : plain(inner, names)];
      })
      .sort(),
  );
}
