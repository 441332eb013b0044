import assert from "node:assert/strict";
import type { ManagedFieldsEntry } from "../../runtime/base/objects";
import type { Lease, LeaseSpec } from "../../runtime/leadership/lease";
import { isSignOfLife } from "../../runtime/leadership/ourLease";

const [FIRST, SECOND] = ["2026-11-21T10:00:00Z", "2026-11-21T10:00:02Z"];
const SPEC: LeaseSpec = { holderIdentity: "a", renewTime: "2026-11-21T10:00:00.000000Z" };
const RENEWED: LeaseSpec = { ...SPEC, renewTime: "2026-11-21T10:00:02.000000Z" };

/** The entry of a manager that wrote the specification, or an annotation. */
function entry(manager: string, field: "f:spec" | "f:metadata", time: string): ManagedFieldsEntry {
  const content = field === "f:spec" ? { "f:renewTime": {} } : { "f:annotations": { "f:turn": {} } };
  return { manager, operation: "Update", time, fieldsV1: { [field]: content } };
}

function lease(
  resourceVersion: string,
  managedFields: ManagedFieldsEntry[] | undefined,
  spec: LeaseSpec | undefined = SPEC,
  turn = "0",
): Lease {
  const annotations = { turn };
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      ...{ name: "lease", uid: "uid", resourceVersion, annotations },
      ...(managedFields && { managedFields }),
    },
    ...(spec && { spec }),
  };
}

describe("a sign of life of a Lease's holder", () => {
  const holder = entry("argosy", "f:spec", FIRST);
  const toggled = (time: string) => entry("kubectl-annotate", "f:metadata", time);
  const BEFORE = lease("1", [holder, toggled(FIRST)]);

  const signs: Record<string, Lease | undefined> = {
    "is a renewal": lease("2", [entry("argosy", "f:spec", SECOND), toggled(FIRST)], RENEWED),
    "is a renewal next to a change of an annotation": lease("2", [holder], RENEWED, "1"),
    "is a renewal that another one has undone": lease("3", [holder, entry("kubectl-edit", "f:spec", SECOND)]),
    "is a renewal that one of the same name has undone": lease("3", [entry("argosy", "f:spec", SECOND)]),
    "may be whatever was written if it is not known who wrote the specification": lease("2", undefined),
    "may be whatever was written if no manager owns a part of the specification": lease("2", [
      toggled(SECOND),
    ]),
    "is a Lease that is gone": undefined,
  };
  for (const [what, after] of Object.entries(signs))
    it(what, () => assert.equal(isSignOfLife(after, BEFORE), true));

  const none: Record<string, Lease | undefined> = {
    "is not the same version": BEFORE,
    "is not a change of an annotation": lease("2", [holder, toggled(SECOND)], SPEC, "1"),
    "is not a change of an annotation that was undone": lease("3", [holder, toggled(SECOND)]),
    "is not an annotation of another one": lease("3", [
      holder,
      toggled(FIRST),
      entry("x", "f:metadata", SECOND),
    ]),
  };
  for (const [what, after] of Object.entries(none))
    it(what, () => assert.equal(isSignOfLife(after, BEFORE), false));

  it("is not that there is still no Lease", () => assert.equal(isSignOfLife(undefined, undefined), false));
});
