import assert from "node:assert/strict";
import type { ManagedFieldsEntry } from "../../runtime/base/objects";
import { newsOf } from "../../runtime/observe/childNews";
import type { Owner } from "../../runtime/observe/ownership";
import type { Change } from "../../runtime/observe/store";
import type { StoredObject } from "../../runtime/observe/storedObject";
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
  const { name, namespace, resourceVersion } = observed("ConfigMap", {}, { uid }).metadata;
  return {
    ...{ resource: CONFIG_MAPS, name, namespace, uid, resourceVersion, observedVersion: resourceVersion },
    ...{ facts: all, deleting, json: undefined, parsed: undefined, length: undefined },
    ...{ invalidatedAt: 0, isInvalid: false },
  };
}

describe("what a change of a child means", () => {
  function told(before: Change<Facts>["before"], after: Change<Facts>["after"], isByUs = false): string[] {
    const change = { source: "watch", before, after, object: OBJECT } as const;
    return newsOf(change, isByUs, [MANAGER]).map((news) => {
      const by = "child" in news && news.child.by !== undefined ? ` by ${news.child.by}` : "";
      return `${news.owner.uid}: ${news.kind.replace("child ", "")}${by}`;
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
      ["ours: drifted by kubectl", "other: reports"],
    ],
    ["is new and goes", () => told(undefined, child({}, { deleting: true })), ["ours: reports"]],
    ["is new", () => told(undefined, child()), ["ours: drifted by kubectl"]],
    [
      "is another one of the name",
      () => told(child(), child({}, { uid: "new" })),
      ["ours: drifted by kubectl"],
    ],
    ["has other values of ours", () => told(child(), child({ owned: "2" })), ["ours: drifted by kubectl"]],
    ["was not ready and is not", () => told(child(unready), child(unready)), ["ours: progresses"]],
    ["becomes ready", () => told(child(unready), child()), ["ours: reports"]],
    ["is not ready any more", () => told(child(), child(unready)), ["ours: reports"]],
    [
      "is deleted by another client, and waits",
      () => told(child(), child({}, { deleting: true })),
      ["ours: reports"],
    ],
  ];
  it("says of a Job that is gone whether Kubernetes may have deleted it after its end", () => {
    const expiring = (spec: object) => {
      const object = observed("Job", { spec });
      const [news] = newsOf({ source: "watch", before: child(), after: undefined, object }, false, []);
      return news?.kind === "child drifted" && news.child.isExpiring;
    };
    assert.deepEqual([expiring({ ttlSecondsAfterFinished: 0 }), expiring({})], [true, undefined]);
  });

  it("names the client that wrote to it last, and one that writes its status only if there is no other", () => {
    const reporter: ManagedFieldsEntry = {
      manager: "controller",
      operation: "Update",
      subresource: "status",
    };
    const writer = (...entries: ManagedFieldsEntry[]) => {
      const object = observed("ConfigMap", {}, { managedFields: entries });
      const change = { source: "watch", before: child(), after: child({ owned: "2" }), object } as const;
      const [news] = newsOf(change, false, [MANAGER]);
      return news?.kind === "child drifted" ? news.child.by : undefined;
    };
    const ours: ManagedFieldsEntry = { manager: MANAGER, operation: "Apply" };
    assert.equal(writer(ours, reporter), "controller");
    assert.equal(writer(ours, KUBECTL, { ...reporter, time: "2026-01-01T00:00:00Z" }), "kubectl");
  });

  for (const [what, news, expected] of table)
    it(`follows from the table if it ${what}`, () => assert.deepEqual(news(), expected));
});
