import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { ChildIndex, type UndoneChild } from "../../runtime/children/childIndex";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { KubernetesObject, ManagedFieldsEntry, ObjectMeta } from "../../runtime/kubernetes/objects";
import { eventually } from "./support/eventually";
import { CONFIG_MAPS, MANAGER, observed, WIDGETS } from "./support/objects";
import { json, sendEvent, TestApiServer } from "./support/testApiServer";

const SECOND = "2026-11-21T10:00:00Z";
const LATER = "2026-11-21T10:00:05Z";
const APPLIED = "the manifest";

/** What the field manager wrote last, in which second. */
function entry(manager: string, time: string, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry {
  return { manager, operation: "Apply", time, fieldsV1: { "f:data": { "f:key": {} } }, ...more };
}

/** Somebody's report of a status. */
function status(time: string): ManagedFieldsEntry {
  return entry("reporter", time, {
    operation: "Update",
    subresource: "status",
    fieldsV1: { "f:status": {} },
  });
}

describe("ChildIndex", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let index: ChildIndex;
  let watch: ServerResponse | undefined;
  let told: (UndoneChild | undefined)[];

  beforeEach(async () => {
    [told, watch] = [[], undefined];
    api = await TestApiServer.start((call, response) => {
      if (!call.query.has("watch")) return json(response, { metadata: { resourceVersion: "1" }, items: [] });
      watch = response;
      response.writeHead(200).flushHeaders();
    });
    client = api.client();
    index = new ChildIndex({
      client,
      ownerKind: WIDGETS,
      fieldManager: MANAGER,
      kinds: [CONFIG_MAPS],
      namespaces: "all",
      onChange: (_, undone) => void told.push(undone),
      onInterruption: () => {},
    });
    await index.start();
    await eventually("it watches", () => watch !== undefined);
  });
  afterEach(async () => {
    await index.stop();
    client.close();
    await api.stop();
  });

  function child(
    resourceVersion: string,
    managedFields: ManagedFieldsEntry[],
    more: Partial<ObjectMeta> = {},
  ) {
    const { apiVersion, kind } = WIDGETS;
    const ownerReferences = [{ apiVersion, kind, name: "widget", uid: "widget-uid", controller: true }];
    const metadata = { name: "settings", namespace: "shop", uid: "settings-uid", ownerReferences };
    return observed("ConfigMap", {}, { ...metadata, resourceVersion, managedFields, ...more });
  }

  const record = () => index.find(CONFIG_MAPS, { namespace: "shop", name: "settings" });

  function changed(object: KubernetesObject): void {
    assert.ok(watch);
    sendEvent(watch, "MODIFIED", object);
  }

  /** Applies it, with this answer; then the watch tells of a later state. */
  async function applyThenSee(answer: KubernetesObject, later: KubernetesObject): Promise<void> {
    await index.write(CONFIG_MAPS, answer.metadata, APPLIED, async () => ({ object: answer }));
    assert.equal(record()?.applied?.manifest, APPLIED);
    changed(later);
    await eventually("it has come", () => told.length === 1);
  }

  it("takes a change that no field manager's entry tells of for a late write of our own: what is applied is not known", async () => {
    const ours = [entry(MANAGER, SECOND)];
    await applyThenSee(child("5", ours), child("6", ours));
    assert.deepEqual(told, [{ kind: "ConfigMap", namespace: "shop", name: "settings" }]);
    assert.equal(record()?.applied, undefined);
  });

  it("knows a report of a status by its entry, also the second within one second where the specification has stayed", async () => {
    const ours = entry(MANAGER, SECOND);
    await applyThenSee(
      child("5", [ours], { generation: 1 }),
      child("6", [ours, status(SECOND)], { generation: 1 }),
    );
    changed(child("7", [ours, status(SECOND)], { generation: 1 }));
    changed(child("8", [ours, status(LATER)], { generation: 1 }));
    await eventually("all have come", () => told.length === 3);
    assert.deepEqual(told, [undefined, undefined, undefined]);
    assert.equal(record()?.applied?.manifest, APPLIED);
  });

  it("takes a new specification that no entry tells of for one too", async () => {
    const ours = [entry(MANAGER, SECOND)];
    await applyThenSee(child("5", ours, { generation: 1 }), child("6", ours, { generation: 2 }));
    assert.equal(record()?.applied, undefined);
  });

  it("tells who took a field over, by whose entry ours has changed", async () => {
    const others = entry("kubectl", LATER);
    const ours = entry(MANAGER, SECOND);
    await applyThenSee(child("5", [ours]), child("6", [entry(MANAGER, SECOND, { fieldsV1: {} }), others]));
    assert.equal(told[0]?.by, "kubectl");
  });

  it("tells the children of former objects of a name from those of the one that is there", async () => {
    const { apiVersion, kind } = WIDGETS;
    const ofUid = (name: string, uid: string, owner = "widget") =>
      observed(
        "ConfigMap",
        {},
        {
          ...{ name, namespace: "shop", uid: `${name}-uid`, resourceVersion: "5" },
          ownerReferences: [{ apiVersion, kind, name: owner, uid, controller: true }],
        },
      );
    index.learn(CONFIG_MAPS, [ofUid("a", "first"), ofUid("b", "second"), ofUid("c", "third", "other")]);
    const formerOf = (uid: string) =>
      index.ofFormer({ uid, namespace: "shop", name: "widget" }).map(({ name }) => name);
    assert.deepEqual(formerOf("second"), ["a"]);
    assert.deepEqual(formerOf("fourth"), ["a", "b"]);
    await index.write(CONFIG_MAPS, { namespace: "shop", name: "a" }, undefined, async () => ({
      object: undefined,
    }));
    assert.deepEqual(formerOf("second"), []);
    assert.deepEqual(formerOf("fourth"), ["b"]);
  });
});
