import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { buildEventBus } from "../../components/manifests/eventPath/eventBus";
import type { EventBusOptions } from "../../components/manifests/eventPath/options";
import { bytesOf } from "../../components/manifests/resources";
import { argoValidator } from "./support/argoSchemas";
import { samplePlatform } from "./support/platform";

/** The event bus of these options in namespace "operators". */
function busOf(eventBus: EventBusOptions) {
  return buildEventBus({
    name: "argosy",
    platform: samplePlatform({ namespace: "operators", instanceId: "argosy", jetStreamVersion: "2.10.29" }),
    placement: {
      imagePullSecrets: [],
      nodeSelector: { pool: "system" },
      tolerations: [{ operator: "Exists" }],
    },
    eventBus,
  });
}

const jetStreamOf = (eventBus: EventBusOptions) =>
  (busOf(eventBus).spec as { jetstream: Record<string, unknown> }).jetstream;
const streamOf = (eventBus: EventBusOptions) => parse(String(jetStreamOf(eventBus).streamConfig));
const settingsOf = (eventBus: EventBusOptions) => parse(String(jetStreamOf(eventBus).settings));

describe("buildEventBus", () => {
  it("has one server without a volume, and a stream that fits into a node's disk", () => {
    const { version, replicas, maxPayload, persistence, affinity } = jetStreamOf({ replicas: 1 });
    assert.deepEqual(
      { version, replicas, maxPayload, persistence, affinity },
      { version: "2.10.29", replicas: 1, maxPayload: "4MB", persistence: undefined, affinity: undefined },
    );
    assert.deepEqual(streamOf({ replicas: 1 }), {
      replicas: 1,
      maxAge: "24h",
      maxMsgs: 100000,
      maxBytes: 268435456,
      duplicates: "2m",
      retention: 0,
      discard: 0,
    });
    assert.deepEqual(settingsOf({ replicas: 1 }), { max_memory_store: 67108864, max_file_store: 402653184 });
  });

  it("has a volume of the size and class given", () => {
    const persistence = (more: Partial<EventBusOptions>) => jetStreamOf({ replicas: 1, ...more }).persistence;
    const common = { volumeSize: "2Gi", accessMode: "ReadWriteOnce" };
    assert.deepEqual(persistence({ storage: "2Gi" }), common);
    assert.deepEqual(persistence({ storage: "2Gi", storageClassName: "fast" }), {
      ...common,
      storageClassName: "fast",
    });
  });

  it("spreads several servers over nodes, with a copy of the stream for each server, but at most three", () => {
    for (const [replicas, copies] of [
      [3, 3],
      [5, 3],
    ] as const) {
      assert.equal(streamOf({ replicas }).replicas, copies);
      const text = JSON.stringify(jetStreamOf({ replicas }).affinity);
      assert.match(text, /"eventbus-name":"argosy"/);
      assert.match(text, /"topologyKey":"kubernetes.io\/hostname"/);
    }
  });

  it("never gives the stream more than the store may have, nor the store more than there is", () => {
    const unit = fc.constantFrom("M", "G", "Mi", "Gi", "Ti");
    fc.assert(
      fc.property(fc.integer({ min: 150, max: 4000 }), unit, (number, suffix) => {
        const options = { replicas: 1, storage: `${number}${suffix}` };
        const { maxBytes } = streamOf(options);
        const { max_file_store: store } = settingsOf(options);
        assert.ok(Number.isSafeInteger(maxBytes) && Number.isSafeInteger(store));
        // Room for a few of the largest events, and for the Sensors' own state.
        assert.ok(maxBytes >= 16 * 4 * 2 ** 20 && maxBytes + 24 * 2 ** 20 < store);
        assert.ok(store < bytesOf(options.storage));
      }),
    );
  });

  it("refuses a number of servers that cannot agree, and a volume that is none or too small", () => {
    for (const replicas of [0, 2, 4, -1, 1.5, Number.NaN]) {
      assert.throws(() => busOf({ replicas }), /eventBus\.replicas/);
    }
    assert.throws(() => busOf({ replicas: 1, storage: "100Mi" }), /"100Mi".*128Mi/);
    assert.throws(() => busOf({ replicas: 1, storage: "much" }), /"much"/);
  });

  it("runs all of its containers as one user, each with its size", () => {
    const { securityContext, ...rest } = jetStreamOf({ replicas: 1 });
    const user = { runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532 };
    assert.deepEqual({ ...(securityContext as object), ...user }, securityContext);
    for (const template of ["containerTemplate", "reloaderContainerTemplate", "metricsContainerTemplate"]) {
      const { resources } = rest[template] as { resources: object };
      assert.deepEqual(Object.keys(resources), ["requests", "limits"]);
    }
  });

  it("lets Pulumi wait for the conditions that its controller sets", () => {
    assert.deepEqual(busOf({ replicas: 1 }).metadata.annotations, {
      "pulumi.com/waitFor": '["condition=Configured","condition=Deployed"]',
      "pulumi.com/timeoutSeconds": "180",
      "pulumi.com/patchForce": "true",
    });
  });

  it("is in order for Argo", () => {
    const validate = argoValidator("EventBus");
    assert.deepEqual(validate(busOf({ replicas: 1 })), []);
    assert.deepEqual(validate(busOf({ replicas: 3, storage: "10Gi", storageClassName: "fast" })), []);
  });
});

describe("bytesOf", () => {
  it("knows the units of Kubernetes", () => {
    assert.deepEqual(["1024", "2k", "1.5M", "2Gi", "0.5Ki"].map(bytesOf), [
      1024,
      2000,
      1_500_000,
      2 ** 31,
      512,
    ]);
  });

  it("refuses what is no size", () => {
    for (const text of ["", "Gi", "-1Gi", "1 Gi", "1GiB", "1g", "1e9", "99999Pi"]) {
      assert.throws(() => bytesOf(text), RangeError);
    }
  });
});
