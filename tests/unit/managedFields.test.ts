import assert from "node:assert/strict";
import type { ManagedFieldsEntry } from "../../runtime/base/objects";
import { applyEntry } from "../../runtime/fields/managedFields";
import { MANAGER, observed } from "./support/objects";

describe("applyEntry", () => {
  const find = (entry: ManagedFieldsEntry, subresource?: string) =>
    applyEntry(
      observed("ConfigMap", {}, { managedFields: [{ manager: "kubectl" }, entry] }),
      MANAGER,
      subresource,
    );
  const entry: ManagedFieldsEntry = { manager: MANAGER, operation: "Apply" };

  it("finds what we applied, and none of our other writes", () => {
    assert.equal(find(entry), entry);
    assert.equal(find({ ...entry, operation: "Update" }), undefined);
    assert.equal(find({ ...entry, subresource: "status" }), undefined);
    assert.equal(find({ ...entry, manager: "argosy/other" }), undefined);
  });

  it("finds what we have applied to a subresource, and not to the object itself", () => {
    const ofStatus = { ...entry, subresource: "status" };
    assert.equal(find(ofStatus, "status"), ofStatus);
    assert.equal(find(entry, "status"), undefined);
  });
});
