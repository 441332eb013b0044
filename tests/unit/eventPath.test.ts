import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { buildEventPathAccounts } from "../../components/manifests/eventPath/accounts";
import { buildEventBus } from "../../components/manifests/eventPath/eventBus";
import { EVENT_FILTER } from "../../components/manifests/eventPath/eventFilter";
import {
  buildEventSource,
  MAX_SPECIFICATION_BYTES,
  planEventPath,
  SENSOR_ANNOTATION,
  specificationBytes,
} from "../../components/manifests/eventPath/eventSource";
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
import { OperatorError } from "../../definition/problems";
import type { Manifest } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
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

describe("buildEventPathAccounts", () => {
  it("lets sources look in each place for exactly the custom resources that are watched there", () => {
    const kindOf = (group: string) => ({ ...operator().customResource, group });
    const accounts = buildEventPathAccounts(
      [
        operator({ name: "everywhere", customResource: kindOf("everywhere.example.com") }),
        operator({ name: "a", namespaces: ["team-a", "team-b"], customResource: kindOf("a.example.com") }),
        operator({ name: "b", namespaces: ["team-b"], customResource: kindOf("b.example.com") }),
      ],
      OPTIONS,
    );
    const watched = (group: string) => ({
      apiGroups: [group],
      resources: ["widgets"],
      verbs: ["list", "watch"],
    });
    assert.deepEqual(accounts["source-role"]?.rules, [watched("everywhere.example.com")]);
    assert.deepEqual(accounts["source-role.team-a"]?.rules, [watched("a.example.com")]);
    assert.deepEqual(accounts["source-role.team-b"]?.rules, [
      watched("a.example.com"),
      watched("b.example.com"),
    ]);
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
});

describe("the pods of the event path", () => {
  it("carry labels by which a network policy knows a Sensor of any shard", () => {
    assert.deepEqual(sensorOf(RESIDENT).template.metadata.labels, sensorPodLabels("argosy"));
    assert.notDeepEqual(sourceOf(RESIDENT).template.metadata.labels, sensorPodLabels("argosy"));
  });
});

// The golden files have no annotations for Pulumi.
describe("Pulumi", () => {
  const shard = shardOf(RESIDENT, POD);
  for (const [manifest, ...conditions] of [
    [buildEventBus(OPTIONS), "Configured", "Deployed"],
    [sourceIn(shard), "SourcesProvided", "Deployed"],
    [buildSensor(shard, OPTIONS), "DependenciesProvided", "TriggersProvided", "Deployed"],
  ] as const) {
    it(`waits for what Argo says of the ${manifest.kind}, and changes it although Argo has written it back as its own`, () =>
      assert.deepEqual(manifest.metadata.annotations, {
        "pulumi.com/waitFor": JSON.stringify(conditions.map((condition) => `condition=${condition}`)),
        "pulumi.com/timeoutSeconds": "180",
        "pulumi.com/patchForce": "true",
      }));
  }
});

/** Without a placement, which makes specifications longer. */
const PLAIN = { ...OPTIONS, placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] } };

/** As many operators, named by number, as `events` has entries: each with as many namespaces. 0 is all of them. */
const operatorsWith = (events: readonly number[]) =>
  events.map((count, index) =>
    operator({
      name: `operator-${index + 1}`,
      folder: `/operators/${index + 1}`,
      execution: index % 3 === 2 ? "pod" : "resident",
      namespaces: count === 0 ? "all" : Array.from({ length: count }, (_, number) => `namespace-${number}`),
    }),
  );

const namesOf = (events: readonly number[]) =>
  planEventPath(operatorsWith(events), PLAIN).map(({ name, operators }) => [
    name,
    operators.map((each) => Number(each.name.replace("operator-", ""))),
  ]);

describe("planEventPath", () => {
  it("shares one pair among all operators of a program of common size", () => {
    assert.deepEqual(namesOf([0, 0, 3, 0]), [["argosy", [1, 2, 3, 4]]]);
  });

  it("begins a further pair, in the operators' order, when one is full", () => {
    assert.deepEqual(namesOf([25, 25, 5]), [
      ["argosy", [1]],
      ["argosy-shard-2", [2, 3]],
    ]);
  });

  it("carries every operator once, and hands no pod more than it can be given", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 18 }), { maxLength: 12 }), (events) => {
        const operators = operatorsWith(events);
        const shards = planEventPath(operators, PLAIN);
        assert.deepEqual(
          shards.flatMap((shard) => shard.operators),
          operators,
        );
        for (const shard of shards) {
          const sensor = buildSensor(shard, PLAIN);
          assert.ok(specificationBytes(sensor) <= MAX_SPECIFICATION_BYTES);
          assert.ok(specificationBytes(buildEventSource(shard, sensor, PLAIN)) <= MAX_SPECIFICATION_BYTES);
        }
        // No pair could have taken the first operator of the next.
        for (const [index, shard] of shards.slice(0, -1).entries()) {
          const next = shards[index + 1]?.operators.slice(0, 1) ?? [];
          const fuller = buildSensor({ ...shard, operators: [...shard.operators, ...next] }, PLAIN);
          assert.ok(specificationBytes(fuller) > MAX_SPECIFICATION_BYTES);
        }
      }),
      { numRuns: 30 },
    );
  });

  it("names every operator that is too large for a pair of its own", () => {
    assert.throws(
      () => planEventPath(operatorsWith([0, 200, 300]), PLAIN),
      (error) => {
        assert.ok(error instanceof OperatorError);
        assertEach(error.problems, (problem) => problem.replace(/^.*\/operators/, "/operators"), [
          "/operators/2/operator.yaml: namespaces lists 200 namespaces, more than one Sensor can carry. Write all, or make it several operators with fewer namespaces each.",
          "/operators/3/operator.yaml: namespaces lists 300 namespaces, more than one Sensor can carry. Write all, or make it several operators with fewer namespaces each.",
        ]);
        return true;
      },
    );
  });

  it("measures what Go would write, in base64", () => {
    const manifest = (script: string) => ({
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Sensor",
      metadata: { name: "argosy", namespace: "operators" },
      spec: { script },
    });
    const plain = specificationBytes(manifest(""));
    assert.equal(specificationBytes(manifest("xyz")), plain + 4);
    assert.equal(specificationBytes(manifest("é<")), specificationBytes(manifest("12345678")));
  });
});

/** The event bus of these options in namespace "operators". */
function busOf(eventBus: EventBusOptions) {
  return buildEventBus({ ...OPTIONS, eventBus });
}

const jetStreamOf = (eventBus: EventBusOptions) =>
  (busOf(eventBus).spec as { jetstream: Record<string, unknown> }).jetstream;
const streamOf = (eventBus: EventBusOptions) => parse(String(jetStreamOf(eventBus).streamConfig));
const settingsOf = (eventBus: EventBusOptions) => parse(String(jetStreamOf(eventBus).settings));

describe("buildEventBus", () => {
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
