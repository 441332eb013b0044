import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { identityIn } from "../../cli/inspect/readInstalled";
import { buildEventPath } from "../../components/manifests/eventPath/eventPath";
import { buildOperator } from "../../components/manifests/operator/operator";
import { isRecord } from "../../runtime/base/json";
import {
  fieldManagerOf,
  finalizerManagerOf,
  finalizersOf,
  formerIdentitiesOf,
  formerManagersOf,
  identityOf,
  leaseNameOf,
  ownerRangeOf,
} from "../../runtime/base/names";
import type { Manifest } from "../../runtime/base/objects";
import { loadDefinition, problemsIn, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { operatorOptions, withFiles } from "./operatorManifests";
import { samplePlatform } from "./support/platform";

/** RFC 1123, as apimachinery/pkg/util/validation has it. */
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const SERVICE = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const LABEL_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LONGEST_SUBDOMAIN = 253;

/**
 * The longest name of what a controller makes further names of: pods of a StatefulSet "eventbus-<name>-js" carry that
 * and a hash in a label (argo-events, pkg/reconciler/eventbus/installer/jetstream.go), a CronWorkflow's runs end in a
 * time (argo-workflows, workflow/validate, ValidateCronWorkflow), and Workflows' pods name their template in a label.
 */
const LONGEST: Readonly<Record<string, number>> = {
  EventBus: 63 - "eventbus-".length - "-js".length - "-0123456789".length,
  EventSource: 63 - "-eventsource-svc".length,
  Sensor: 63,
  CronWorkflow: 52,
  WorkflowTemplate: 63,
};

const name = (longest: number) =>
  fc
    .stringMatching(new RegExp(`^[a-z]([-a-z0-9]{0,${longest - 2}}[a-z0-9])?$`))
    .filter((each) => each.length <= longest);
const namespace = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
/** Random names are rarely the longest ones. */
const longestToo = (each: fc.Arbitrary<string>, length: number) =>
  fc.oneof(each, fc.constantFrom("a".repeat(length), `a${"-".repeat(length - 2)}0`));

const program = fc.record({
  operator: longestToo(name(40), 40),
  eventPathName: longestToo(name(30), 30),
  platform: longestToo(namespace, 63),
  namespaces: fc.oneof(
    fc.constant("all" as const),
    fc.uniqueArray(longestToo(namespace, 63), { minLength: 1, maxLength: 5 }),
  ),
  execution: fc.constantFrom("resident" as const, "pod" as const),
});
type Program = typeof program extends fc.Arbitrary<infer Value> ? Value : never;

/** Every manifest of an operator and its event path, but CRDs: their names are the author's. */
function manifestsOf({ operator: own, eventPathName, platform, namespaces, execution }: Program): Manifest[] {
  const options = operatorOptions({
    eventPathName,
    platform: samplePlatform({ namespace: platform, instanceId: "argosy", jetStreamVersion: "2.10.29" }),
  });
  const path = { ...options, name: eventPathName, eventBus: { replicas: 3, storage: "1Gi" } };
  const { operator, files } = withFiles(
    {
      name: own,
      namespaces,
      execution,
      finalize: true,
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
    },
    { "main.py": "", "lib/util.py": "" },
    options,
  );
  const { accounts, eventBus, shards, keeper } = buildEventPath([operator], path, files.engine);
  const { parts, runner } = buildOperator(operator, options, files);
  return [
    ...Object.values(accounts),
    eventBus,
    ...shards.flatMap(({ sensor, eventSource }) => [sensor, eventSource]),
    ...Object.values(keeper),
    ...Object.values(parts),
    ...(runner ? [runner] : []),
  ];
}

describe("for whatever name an operator has, and whatever namespaces it looks after,", () => {
  it("every object has a name and a namespace that Kubernetes and Argo take", () => {
    fc.assert(
      fc.property(program, (each) => {
        const manifests = manifestsOf(each);
        assert.ok(manifests.length > 10);
        assert.ok(manifests.some(({ kind }) => kind === "Service"));
        const identities = manifests.map(
          ({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`,
        );
        assert.equal(new Set(identities).size, identities.length);
        for (const { kind, metadata } of manifests) {
          assert.match(metadata.name, kind === "Service" ? SERVICE : SUBDOMAIN, kind);
          assert.ok(metadata.name.length <= (LONGEST[kind] ?? LONGEST_SUBDOMAIN), `${kind} ${metadata.name}`);
          if (metadata.namespace !== undefined) assert.match(metadata.namespace, LABEL);
        }
      }),
    );
  });

  it("every label holds a label's value, and every selector one that can be selected", () => {
    fc.assert(
      fc.property(program, (each) => {
        const labels = labelsIn(manifestsOf(each));
        assert.ok(labels.length > 30);
        for (const [key, value] of labels) {
          const [label = "", prefix] = key.split("/").reverse();
          assert.match(label, LABEL_NAME);
          if (prefix !== undefined) assert.match(prefix, SUBDOMAIN);
          // Argo fills in what a Workflow is about: a uid.
          if (!value.startsWith("{{")) assert.match(value, LABEL_VALUE, key);
        }
      }),
    );
  });

  it("every part of a pod has a name that pods take", () => {
    fc.assert(
      fc.property(program, (each) => {
        const names = manifestsOf(each).flatMap((manifest) =>
          namesIn(manifest, ["containers", "initContainers", "volumes"]),
        );
        assert.ok(names.length > 5);
        for (const each of names) assert.match(each, LABEL);
      }),
    );
  });

  it("finalizers, field managers, label and lease have names that the API server takes", () => {
    fc.assert(
      fc.property(longestToo(name(20), 20), longestToo(name(40), 40), (installation, own) => {
        const operator = { installation, name: own };
        for (const finalizer of finalizersOf(operator)) {
          const [prefix = "", rest = ""] = finalizer.split("/");
          assert.match(prefix, SUBDOMAIN);
          assert.match(rest, LABEL_NAME);
        }
        assert.match(identityOf(operator), LABEL_VALUE);
        assert.match(leaseNameOf(operator), SUBDOMAIN);
        // apimachinery, pkg/apis/meta/v1/validation: FieldManagerMaxLength.
        for (const manager of [fieldManagerOf(operator), ...finalizersOf(operator).map(finalizerManagerOf)]) {
          assert.ok(manager.length <= 128, manager);
        }
      }),
    );
  });

  it("the Lease of an operator is not that of a part of another one's objects", () => {
    assert.equal(leaseNameOf({ installation: "argosy", name: "memcached" }), "argosy-argosy.memcached");
    const identity = fc.record({ installation: name(20), name: name(40) });
    fc.assert(
      fc.property(identity, identity, fc.stringMatching(/^[0-9a-f](-[0-9a-f])?$/), (one, other, range) => {
        const part = `${leaseNameOf(one)}.${range}`;
        assert.match(part, SUBDOMAIN);
        assert.ok(part.length <= LONGEST_SUBDOMAIN);
        assert.notEqual(part, leaseNameOf(other));
        assert.notEqual(part, leaseNameOf({ ...one, name: `${one.name}-${range}` }));
        // Those who look for operators by their Leases take it for none.
        assert.equal(identityIn(part.slice("argosy-".length)), undefined);
      }),
    );
  });

  it("and no other names come so far: a definition with one is refused", () => {
    const folder = writeFolder({ "crd.yaml": widgetCrd(), "main.py": "" });
    const refused = (more: object, installation?: string) =>
      problemsIn(() => loadDefinition(folder, { ...widgetDefinition, ...more }, { installation })).length > 0;
    fc.assert(
      fc.property(fc.oneof(fc.string(), name(63)), (text) => {
        assert.equal(refused({ name: text }), !(SERVICE.test(text) && text.length <= 40), text);
        assert.equal(refused({ name: "widget", namespaces: [text] }), !LABEL.test(text), text);
        assert.equal(refused({ name: "widget" }, text), !(LABEL.test(text) && text.length <= 20), text);
      }),
    );
  });
});

describe("the range of an object", () => {
  it("is the sixteenth of Kubernetes' own hashes in which its uid is", () => {
    // Go's hash/fnv, by which apimachinery's sharding.HashField works, gives 93754b7248a00eb9 and d4c53b72f9287c28.
    const uids = ["aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "test-uid-12345"];
    assert.deepEqual(uids.map(ownerRangeOf), ["9", "d"]);
  });

  it("is one of sixteen digits, of about as many objects each", () => {
    const counts = new Map<string, number>();
    for (let at = 0; at < 16_000; at++) {
      const range = ownerRangeOf(randomUUID());
      counts.set(range, (counts.get(range) ?? 0) + 1);
    }
    assert.deepEqual([...counts.keys()].sort(), [..."0123456789abcdef"]);
    // Ten standard deviations.
    for (const count of counts.values()) assert.ok(Math.abs(count - 1_000) < 310, String(count));
  });
});

describe("the names that an operator had", () => {
  it("are of the same installation, unless they name another", () => {
    const operator = { installation: "argosy", name: "memcached", formerNames: ["cache", "shop.cache"] };
    assert.deepStrictEqual(formerIdentitiesOf(operator), [
      { installation: "argosy", name: "cache" },
      { installation: "shop", name: "cache" },
    ]);
    assert.deepStrictEqual(formerManagersOf(operator), ["argosy/argosy.cache", "argosy/shop.cache"]);
  });
});

/** Keys and values of all labels, also of those that pods are to get or are selected by. */
function labelsIn(value: unknown): [key: string, value: string][] {
  if (Array.isArray(value)) return value.flatMap(labelsIn);
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (!/^(labels|matchLabels|selector)$/.test(key) || !isRecord(inner)) return labelsIn(inner);
    return Object.entries(inner).flatMap(([label, text]) =>
      typeof text === "string" ? [[label, text] as [string, string]] : labelsIn({ [label]: text }),
    );
  });
}

/** The names in lists of these fields, wherever they are. */
function namesIn(value: unknown, fields: readonly string[]): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => namesIn(each, fields));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const own =
      fields.includes(key) && Array.isArray(inner) ? inner.map(({ name }: { name: string }) => name) : [];
    return [...own, ...namesIn(inner, fields)];
  });
}
