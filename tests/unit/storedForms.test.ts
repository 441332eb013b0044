import assert from "node:assert/strict";
import { fingerprint, readJson } from "../../runtime/base/json";
import type { Manifest } from "../../runtime/base/objects";
import { eventMarks } from "../../runtime/operator/eventMarks";
import { type EventMapping, eventMapper } from "../../runtime/operator/mapEvent";
import { doneAt } from "../../runtime/reconcile/due";
import { newEventsIn } from "../../runtime/reconcile/report";
import { withDigest } from "../../runtime/remember/composeStatus";
import { type Memory, remembered } from "../../runtime/remember/memory";
import { contentOf, desiredChildren } from "../../runtime/write/desiredChildren";
import { operator, widget } from "./support/objects";

/*
 * Clusters hold these values, and an engine compares what an older one stored with what it makes itself. If a value changes, an
 * upgrade creates Jobs again that ran long ago, makes a second object of an event, or reports everything once more. So a change
 * needs a second form, and the engine must still read this one.
 */
describe("what clusters hold keeps its form:", () => {
  it("fingerprints", () => {
    const deep = JSON.parse(`${'{"a":['.repeat(5_000)}1${"]}".repeat(5_000)}`);
    const numbers = readJson('{"long":9007199254740993,"b":[1.5,-0,1e21,null],"a":true}');
    const texts = { ü: 'Grüße 🚢 \u2028 "\\', "10": "", "9": undefined };
    assert.deepEqual([numbers, texts, deep, undefined].map(fingerprint), [
      "GfyKMIQaYt9jG28ojvnFXE",
      "dQ4DXqoCSqwF4wDCYovDTx",
      "m-58oQrtIN-Mw9DTOwOJV1",
      "dCNOmK_nSY-12vHzasLXis",
    ]);
  });

  it("the content of children", () => {
    const deployment = {
      ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", labels: { a: "b" } } },
      ...{ spec: { replicas: 2, template: { spec: { containers: [] } } }, status: { replicas: 1 } },
    };
    const secret = {
      ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "key" }, type: "Opaque" },
      ...{ data: { a: "YQ==" }, stringData: { b: "ü" } },
    };
    const kinds = [deployment, secret].map(({ apiVersion, kind }) => ({
      ...{ apiVersion, kind, plural: `${kind.toLowerCase()}s`, namespaced: true },
      update: "apply" as const,
    }));
    const answered: Manifest[] = [deployment, secret];
    const children = desiredChildren(answered, widget(), operator({ children: kinds }), kinds);
    assert.deepEqual(children.map(contentOf), ["rFwokVllK4pAPRpXj_i3gg", "l1EbPfs9vX849PQ4fgvmuA"]);
  });

  it("the object of an event", () => {
    const mapping: EventMapping = {
      ...{ name: "deploy", type: "github", id: ["body.id", "body.action"], when: {} },
      ...{ namespace: "shop", spec: { text: "body.text", count: "body.count" } },
    };
    const mapped = eventMapper(mapping, undefined)({ body: { id: 7, action: "ü", text: "a b", count: 3 } });
    assert.ok(mapped.kind === "object");
    assert.equal(mapped.object.name, "deploy-26513abe503472f6e59c");
    assert.deepEqual(eventMarks("deploy", mapped.object), {
      labels: { "argosy.dev/event": "deploy" },
      annotations: { "argosy.dev/event-id": "7/ü", "argosy.dev/event-content": "NMsrNFPCMF_QCyn_fLZ09W" },
    });
  });

  it("the memory of an object", () => {
    const event = { type: "Normal", reason: "Saved", note: "to s3" } as const;
    const schedule = { cron: "0 3 * * *", timeZone: "Europe/Berlin", spreadSeconds: 60 };
    const memory: Required<Omit<Memory, "unknown" | "digest">> = {
      kinds: ["v1/ConfigMap", "apps/v1/Deployment"],
      created: ["ConfigMap/shop/b", "ConfigMap/shop/a"],
      readyOnce: { "batch/Job/shop/migrate": "content-of-it" },
      schedules: { nightly: doneAt(schedule, "2026-01-01T02:00:00Z") },
      reportedEvents: newEventsIn([event], 3).fingerprints,
      state: { seen: 1 },
      namespaces: ["shop", "depot"],
      elsewhere: true,
      content: "content",
      children: "children",
      used: "used",
      program: "program",
      dueAt: "2026-01-01T00:00:00Z",
      retryAt: "2026-01-01T00:00:00Z",
    };
    assert.deepEqual(
      { ...remembered(memory), uid: "widget-uid" },
      {
        ...memory,
        uid: "widget-uid",
        kinds: ["apps/v1/Deployment", "v1/ConfigMap"],
        created: ["ConfigMap/shop/a", "ConfigMap/shop/b"],
        schedules: { nightly: { at: "2026-01-01T02:00:00Z", of: "0 3 * * * Europe/Berlin" } },
        reportedEvents: ["iMva5pRnVbsAdx0d81kDZq"],
        namespaces: ["depot", "shop"],
      },
    );
    assert.deepEqual(withDigest({ kinds: [] }, "a"), { kinds: [], digest: "a" });
  });
});
