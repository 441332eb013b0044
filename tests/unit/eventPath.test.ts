import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { buildEventPathAccounts } from "../../components/manifests/eventPath/accounts";
import { buildEventBus } from "../../components/manifests/eventPath/eventBus";
import { EVENT_FILTER } from "../../components/manifests/eventPath/eventFilter";
import { buildEventSource, SENSOR_ANNOTATION } from "../../components/manifests/eventPath/eventSource";
import {
  dependencyOf,
  type EventBusOptions,
  type EventPathOptions,
  type EventPathShard,
  eventsOf,
} from "../../components/manifests/eventPath/options";
import { buildSensor } from "../../components/manifests/eventPath/sensor";
import { sensorPodLabels } from "../../components/manifests/names";
import { bytesOf } from "../../components/manifests/resources";
import type { Manifest } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
import { argoValidator } from "./support/argoSchemas";
import { assertEach } from "./support/lists";
import { operator } from "./support/objects";
import { samplePlatform } from "./support/platform";

const OPTIONS: EventPathOptions = {
  name: "argosy",
  platform: samplePlatform({ namespace: "operators", instanceId: "argosy", jetStreamVersion: "2.10.29" }),
  placement: {
    imagePullSecrets: ["registry"],
    nodeSelector: { pool: "system" },
    tolerations: [{ key: "dedicated", operator: "Exists" }],
  },
  eventBus: { replicas: 1 },
};

const RESIDENT = operator();
const LISTED = operator({ name: "tenants", namespaces: ["team-a", "team-b"] });
const POD = operator({
  name: "heavy",
  execution: "pod",
  customResource: {
    group: "heavy.example.com",
    version: "v2",
    kind: "Job",
    plural: "jobs",
    namespaced: false,
  },
});

const sourceIn = (shard: EventPathShard, options = OPTIONS) =>
  buildEventSource(shard, buildSensor(shard, options), options);
const shardOf = (...operators: Operator[]) => ({ name: "argosy", operators });
const sensorOf = (...operators: Operator[]) => buildSensor(shardOf(...operators), OPTIONS).spec as SensorSpec;
const sourceOf = (...operators: Operator[]) => sourceIn(shardOf(...operators)).spec as SourceSpec;

/** The parts of a Sensor's specification that these tests read. */
interface SensorSpec {
  readonly template: PodTemplate;
  readonly dependencies: readonly { name: string; eventSourceName: string; eventName: string }[];
  readonly triggers: readonly { template: { name: string; k8s?: { source: { resource: Manifest } } } }[];
}

/** Those of an EventSource's. */
interface SourceSpec {
  readonly template: PodTemplate;
  readonly resource: Readonly<Record<string, unknown>>;
}

interface PodTemplate {
  readonly metadata: { readonly annotations?: Record<string, string>; readonly labels: unknown };
  readonly securityContext: object;
}

describe("the events of an operator", () => {
  it("are one, with its name, if it looks after all namespaces", () => {
    assert.deepEqual(eventsOf(RESIDENT), [{ name: "shop", operator: RESIDENT, namespace: "" }]);
  });

  it("are one for each namespace that it lists, and tell which", () => {
    const events = eventsOf(LISTED).map(({ name, namespace }) => [
      name.replace(/-[0-9a-f]{8}$/, ""),
      namespace,
    ]);
    assert.deepEqual(events, [
      ["tenants-team-a", "team-a"],
      ["tenants-team-b", "team-b"],
    ]);
  });

  it("have different names even if operator and namespace read alike together", () => {
    const name = (named: string, namespace: string) =>
      eventsOf(operator({ name: named, namespaces: [namespace] })).map((event) => event.name);
    assert.notDeepEqual(name("a", "b-c"), name("a-b", "c"));
  });

  it("have names that are labels, however long theirs are", () => {
    const label = (most: number) =>
      fc.stringMatching(new RegExp(`^[a-z]([-a-z0-9]{0,${most - 2}}[a-z0-9])?$`));
    fc.assert(
      fc.property(label(40), fc.uniqueArray(label(63), { minLength: 1 }), (name, namespaces) => {
        const names = eventsOf(operator({ name, namespaces })).map((event) => event.name);
        assert.equal(new Set(names).size, namespaces.length);
        for (const each of names) assert.match(each, /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/);
      }),
    );
  });

  it("are depended on by names that Argo's expressions read as variables", () => {
    for (const name of ["3d", "not", "true", "len"]) {
      for (const event of eventsOf(operator({ name }))) assert.equal(dependencyOf(event), `on-${name}`);
    }
  });
});

describe("buildEventSource", () => {
  it("watches for additions and updates, with no filter, in the namespaces that each operator lists", () => {
    const shop = { group: "shop.example.com", version: "v1", resource: "widgets" };
    const eventTypes = ["ADD", "UPDATE"];
    assert.deepEqual(Object.values(sourceOf(RESIDENT, LISTED, POD).resource), [
      { namespace: "", ...shop, eventTypes },
      { namespace: "team-a", ...shop, eventTypes },
      { namespace: "team-b", ...shop, eventTypes },
      { namespace: "", group: "heavy.example.com", version: "v2", resource: "jobs", eventTypes },
    ]);
  });

  it("says on its pods what the Sensor is like, so that they are replaced with it", () => {
    const annotation = (built: SourceSpec) => built.template.metadata.annotations?.[SENSOR_ANNOTATION];
    const before = annotation(sourceOf(RESIDENT));
    assert.ok(before);
    assert.equal(annotation(sourceOf(RESIDENT)), before);
    assert.notEqual(annotation(sourceOf({ ...RESIDENT, namespaces: ["other"] })), before);
  });

  it("is in order for Argo", () => {
    const validate = argoValidator("EventSource");
    assert.deepEqual(validate(sourceIn(shardOf(RESIDENT, LISTED, POD))), []);
  });
});

describe("buildSensor", () => {
  it("has a filtered dependency and a trigger of its own for each event of its EventSource", () => {
    const { dependencies, triggers } = sensorOf(RESIDENT, LISTED, POD);
    const events = Object.keys(sourceOf(RESIDENT, LISTED, POD).resource);
    assert.deepEqual(
      dependencies,
      events.map((eventName) => ({
        name: `on-${eventName}`,
        eventSourceName: "argosy",
        eventName,
        filters: { script: EVENT_FILTER },
      })),
    );
    assertEach(triggers, ({ template }) => template.name, events);
  });

  it("tells a runner which object, and accepts only a 204 as an answer", () => {
    const dependencyName = "on-shop";
    assert.deepEqual(sensorOf(RESIDENT).triggers, [
      {
        atLeastOnce: true,
        retryStrategy: { steps: 60, duration: "1s", factor: 1, jitter: 0.2 },
        policy: { status: { allow: [204] } },
        template: {
          name: "shop",
          conditions: "on-shop",
          http: {
            host: "",
            url: "http://shop-runner.operators.svc:8080/hints",
            method: "POST",
            timeout: 5,
            payload: [
              { src: { dependencyName, dataKey: "body.metadata.namespace", value: "" }, dest: "namespace" },
              { src: { dependencyName, dataKey: "body.metadata.name" }, dest: "name" },
              { src: { dependencyName, dataKey: "body.metadata.uid", value: "" }, dest: "uid" },
              {
                src: { dependencyName, dataKey: "body.metadata.resourceVersion", value: "" },
                dest: "resourceVersion",
              },
            ],
          },
        },
      },
    ]);
  });

  it("is in order for Argo", () => {
    const validate = argoValidator("Sensor");
    assert.deepEqual(validate(buildSensor(shardOf(RESIDENT, LISTED, POD), OPTIONS)), []);
  });
});

describe("the pods of the event path", () => {
  it("run where they are told to, as a user that is not root, and pull with the secrets given", () => {
    for (const { template } of [sensorOf(RESIDENT), sourceOf(RESIDENT)]) {
      const user = { runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532 };
      assert.deepEqual({ ...template.securityContext, ...user }, template.securityContext);
      const { imagePullSecrets, nodeSelector, tolerations } = template as unknown as Record<string, unknown>;
      assert.deepEqual(
        { imagePullSecrets, nodeSelector, tolerations },
        { ...OPTIONS.placement, imagePullSecrets: [{ name: "registry" }] },
      );
    }
  });

  it("carry labels by which a network policy knows a Sensor of any shard", () => {
    assert.deepEqual(sensorOf(RESIDENT).template.metadata.labels, sensorPodLabels("argosy"));
    assert.notDeepEqual(sourceOf(RESIDENT).template.metadata.labels, sensorPodLabels("argosy"));
  });

  it("run as existing accounts, on an existing bus, and let Pulumi wait for what Argo says", () => {
    const accounts = Object.values(buildEventPathAccounts([RESIDENT], OPTIONS)).map(
      ({ metadata }) => metadata.name,
    );
    for (const build of [buildSensor, sourceIn]) {
      const { metadata, spec } = build(shardOf(RESIDENT), OPTIONS);
      const { template, eventBusName } = spec as {
        template: { serviceAccountName: string };
        eventBusName: string;
      };
      assert.ok(accounts.includes(template.serviceAccountName));
      assert.equal(eventBusName, "argosy");
      assert.equal(metadata.annotations?.["pulumi.com/timeoutSeconds"], "180");
      assert.match(metadata.annotations?.["pulumi.com/waitFor"] ?? "", /"condition=Deployed"\]$/);
    }
  });

  it("can be changed although Argo's controller has written all of it back as its own", () => {
    const shard = shardOf(RESIDENT, POD);
    const all = [buildEventBus(OPTIONS), buildSensor(shard, OPTIONS), sourceIn(shard)];
    for (const { metadata } of all) {
      assert.equal(metadata.annotations?.["pulumi.com/patchForce"], "true");
    }
  });
});

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
