import assert from "node:assert/strict";
import { newsOf } from "../../runtime/children/childNews";
import type { Owner } from "../../runtime/children/ownership";
import type { ManagedFieldsEntry } from "../../runtime/kubernetes/objects";
import type { Change } from "../../runtime/watch/store";
import { newStored, type StoredObject } from "../../runtime/watch/storedObject";
import { CONFIG_MAPS, MANAGER, observed } from "./support/objects";

interface Facts {
  readonly owner: Owner;
  readonly owned: string;
  readonly isReady: boolean;
}

const OURS: Owner = { uid: "ours", namespace: "shop", name: "widget" };
const OTHER: Owner = { uid: "other", namespace: "shop", name: "gadget" };
const KUBECTL: ManagedFieldsEntry = { manager: "kubectl", operation: "Update" };
const OBJECT = observed(
  "ConfigMap",
  {},
  { managedFields: [KUBECTL, { manager: MANAGER, operation: "Apply" }] },
);

function child(
  facts: Partial<Facts> = {},
  more: { uid?: string; deleting?: boolean } = {},
): StoredObject<Facts> {
  const { uid = "child-uid", deleting = false } = more;
  const all = { owner: OURS, owned: "1", isReady: true, ...facts };
  return { ...newStored(CONFIG_MAPS, observed("ConfigMap", {}, { uid }), all), deleting };
}

describe("what a change of a child means", () => {
  function told(before: Change<Facts>["before"], after: Change<Facts>["after"], isByUs = false): string[] {
    const change = { source: "watch", before, after, object: OBJECT } as const;
    return newsOf(change, isByUs, [MANAGER]).map(([{ uid }, news]) => {
      const by = "child" in news && news.child.by !== undefined ? ` by ${news.child.by}` : "";
      return `${uid}: ${news.kind}${by}`;
    });
  }

  const unready = { isReady: false };
  const table: [what: string, told: () => string[], expected: string[]][] = [
    ["is gone, and we deleted it", () => told(child(), undefined, true), ["ours: gone"]],
    // Who wrote to it last need not be who deleted it.
    ["is gone", () => told(child(), undefined), ["ours: drifted"]],
    [
      "has another owner",
      () => told(child(), child({ owner: OTHER })),
      ["ours: drifted by kubectl", "other: report"],
    ],
    ["is new and goes", () => told(undefined, child({}, { deleting: true })), ["ours: report"]],
    ["is new", () => told(undefined, child()), ["ours: drifted by kubectl"]],
    [
      "is another one of the name",
      () => told(child(), child({}, { uid: "new" })),
      ["ours: drifted by kubectl"],
    ],
    ["has other values of ours", () => told(child(), child({ owned: "2" })), ["ours: drifted by kubectl"]],
    ["was not ready and is not", () => told(child(unready), child(unready)), ["ours: progress"]],
    ["becomes ready", () => told(child(unready), child()), ["ours: report"]],
    ["is not ready any more", () => told(child(), child(unready)), ["ours: report"]],
    [
      "is deleted by somebody, and waits",
      () => told(child(), child({}, { deleting: true })),
      ["ours: report"],
    ],
  ];
  for (const [what, news, expected] of table)
    it(`follows from the table if it ${what}`, () => assert.deepEqual(news(), expected));
});
