import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { stringify } from "yaml";
import { formatStream } from "../../cli/render/output";
import type { OperatorsArgs } from "../../components/arguments/arguments";
import { POD_PARTS } from "../../components/manifests/pods";
import type { Manifest } from "../../runtime/base/objects";
import { parseIntakeFile } from "../../runtime/programs/intake/intakeFile";
import { type ArgoKind, argoValidator } from "./support/argoSchemas";
import { assertEach } from "./support/lists";
import { type Run, run } from "./support/program";
import {
  crdOf,
  operatorsProgram,
  type Sample,
  type SampleProgram,
  sampleProgram,
} from "./support/sampleOperators";

const WEBHOOK = {
  endpoint: "/deploy",
  method: "POST",
  port: "12000",
  authSecret: { name: "deploy", key: "token" },
} as const;
const GITHUB = {
  webhook: { endpoint: "/github", method: "POST", port: "9000" } as const,
  repositories: [{ owner: "octo-org", names: ["shop"] }],
  webhookSecret: { name: "github", key: "secret" },
};
const SAMPLES = [
  { name: "plain" },
  {
    name: "gear",
    files: {
      "crd.yaml": stringify(
        crdOf("gear", { spec: { type: "object", properties: { a: { type: "string" } } } }),
      ),
    },
    on: {
      hook: {
        webhook: WEBHOOK,
        id: ["body.id"],
        when: { "body.kind": "command" },
        create: {
          kind: "Gear",
          namespace: { from: "body.team", allowed: ["team-a", "team-b"] },
          spec: { a: "body.a" },
        },
        ttlSecondsAfterReady: 86400,
      },
      queue: {
        kafka: { url: "kafka:9092", topic: "t", consumerGroup: { groupName: "gear" } },
        id: ["body.id"],
        create: { kind: "Gear", namespace: "team-a", spec: { a: "body.a" } },
      },
    },
  },
  {
    name: "press",
    execution: "pod",
    on: {
      comment: { github: GITHUB, id: ["body.id"], create: { kind: "Press", namespace: "team-a", spec: {} } },
    },
  },
] as readonly Sample[];
const STORAGE = { outsideEvents: { storage: "1Gi" } };

interface Selector {
  matchLabels: object;
}

/** What the tests look at in the specs of several kinds. */
interface Spec {
  replicas: number;
  template: {
    metadata: { labels: object };
    spec: { nodeSelector: object; containers: { resources: { limits: object } }[] };
  };
  dependencies: { eventName: string }[];
  podSelector: Selector;
  policyTypes: string[];
  ingress: { ports: { port: number }[]; from: { podSelector?: Selector }[] }[];
}

const selects = (selector: Selector | undefined, labels: object) =>
  isDeepStrictEqual({ ...labels, ...selector?.matchLabels }, labels);

describe("OutsideEvents", function () {
  this.timeout(60_000);
  let sample: SampleProgram;
  /** The run of a program that says nothing else. Most tests look at it. */
  let plain: Run;
  before(async () => {
    sample = sampleProgram(SAMPLES);
    plain = await runWith(STORAGE);
  });

  const runWith = (args: Partial<OperatorsArgs>): Promise<Run> => run(operatorsProgram(sample, args));
  const isOutside = ({ metadata }: Manifest) =>
    String(metadata.labels?.["app.kubernetes.io/name"]) === "argosy-outside";
  const outsideOf = async (args?: Partial<OperatorsArgs>) =>
    (args ? await runWith(args) : plain).manifests.filter(isOutside);
  const specOf = (manifests: readonly Manifest[], kind: string, name: string) =>
    find(manifests, kind, name)["spec"] as Spec;
  const eventsOf = (manifests: readonly Manifest[]) => {
    const file = manifests.filter(isOutside).find(({ kind }) => kind === "ConfigMap");
    return parseIntakeFile(String((file?.["data"] as Record<string, string> | undefined)?.["intake.json"]))
      .events;
  };
  const find = (manifests: readonly Manifest[], kind: string, name: string): Manifest => {
    const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
    assert.ok(found, `there is no ${kind} ${name}`);
    return found;
  };

  it("are as the golden file shows them", async () => {
    const text = formatStream(await outsideOf()).replace(/argosy-engine-[0-9a-f]+/g, "argosy-engine-HASH");
    const file = path.resolve(__dirname, "../golden/outside.yaml");
    if (process.env.UPDATE_GOLDEN) writeFileSync(file, text);
    assert.ok(existsSync(file), `${file} is missing: UPDATE_GOLDEN=1 writes it`);
    assert.equal(
      text,
      readFileSync(file, "utf8"),
      "UPDATE_GOLDEN=1 npm test -- --grep golden writes the file again.",
    );
  });

  it("are what Argo's schemas take", async () => {
    const kinds = ["EventBus", "EventSource", "Sensor"];
    const manifests = (await outsideOf()).filter(({ kind }) => kinds.includes(kind));
    assert.equal(manifests.length, 4);
    for (const manifest of manifests) {
      assert.deepEqual(argoValidator(manifest.kind as ArgoKind)(manifest), [], manifest.metadata.name);
    }
  });

  it("do not exist without an operator that has `on`", async () => {
    const without = { ...sample, definitions: sample.definitions.slice(0, 1) };
    const { manifests } = await run(operatorsProgram(without));
    assert.deepEqual(manifests.filter(isOutside), []);
  });

  it("are refused without a volume for their bus, and without Argo Events", async () => {
    await assert.rejects(
      runWith({}),
      /the operators gear, press declare "on" \(events from outside\), and outsideEvents\.storage is not given\..*: pulumi config set outsideEventsStorage 1Gi\. .*outsideEvents: \{ storage: "1Gi" \}/,
    );
    await assert.rejects(
      runWith({ ...STORAGE, platform: { argoEvents: "none" } }),
      /the operators gear, press declare "on" \(events from outside\), which needs Argo Events/,
    );
  });

  it("let only their sensor reach the intake, by NetworkPolicy", async () => {
    const manifests = await outsideOf();
    const labelsOf = (kind: string, name: string) => specOf(manifests, kind, name).template.metadata.labels;
    const policy = specOf(manifests, "NetworkPolicy", "argosy-outside-intake");
    const { podSelector, policyTypes, ingress } = policy;
    assert.deepEqual(policyTypes, ["Ingress"]);
    assert.ok(selects(podSelector, labelsOf("Deployment", "argosy-outside-intake")));
    const port = ingress.filter(({ ports }) => ports.some((each) => each.port === 8080));
    const [peer, other] = port.flatMap(({ from }) => from);
    assert.ok(peer && !other);
    assert.deepEqual(Object.keys(peer), ["podSelector"]);
    assert.ok(selects(peer.podSelector, labelsOf("Sensor", "argosy-outside")));
    assert.ok(!selects(peer.podSelector, labelsOf("EventSource", "argosy-outside")));
  });

  it("let the runner delete what has lasted long enough, and no runner else", async () => {
    const { manifests } = plain;
    const deletes = (operator: string) =>
      manifests.some(
        ({ kind, metadata, ...role }) =>
          kind === "ClusterRole" &&
          metadata.name === `argosy.${operator}-runner` &&
          (role["rules"] as { resources: string[]; verbs: string[] }[]).some(
            ({ resources, verbs }) => resources.includes(`${operator}s`) && verbs.includes("delete"),
          ),
      );
    assert.deepEqual(["gear", "press", "plain"].map(deletes), [true, false, false]);
  });

  it("need no right of the intake's to wake objects, and let it reach the runners of these operators alone", async () => {
    const wake = { hook: { webhook: WEBHOOK, wake: { namespace: "team-a", name: "body.name" } } };
    const watch = { apiVersion: "v1", kind: "Namespace" };
    const waking = sampleProgram([
      { name: "plain" },
      { name: "gear", on: wake },
      {
        name: "spaces",
        watch,
        on: { hook: { webhook: { ...WEBHOOK, endpoint: "/other" }, wake: { name: "body.name" } } },
      },
    ] as readonly Sample[]);
    const { manifests } = await run(operatorsProgram(waking, STORAGE));
    const bound = manifests.filter(
      ({ kind, ...binding }) =>
        kind.endsWith("RoleBinding") && JSON.stringify(binding).includes("argosy-outside-intake"),
    );
    assert.deepEqual(bound, []);
    const { labels } = specOf(manifests, "Deployment", "argosy-outside-intake").template.metadata;
    const reach = (name: string) => {
      const { ingress } = specOf(manifests, "NetworkPolicy", name);
      const callers = ingress.filter(({ ports }) => ports[0]?.port === 8080).flatMap(({ from }) => from);
      return callers.filter(({ podSelector }) => selects(podSelector, labels)).length;
    };
    assert.deepEqual(["plain-runner", "gear-runner", "spaces-runner"].map(reach), [0, 1, 1]);
    const events = eventsOf(manifests);
    assertEach(events, (event) => "runner" in event && event.runner, [
      "gear-runner.argosy.svc",
      "spaces-runner.argosy.svc",
    ]);
    for (const each of events) {
      const services = manifests
        .filter(({ kind }) => kind === "Service")
        .map(({ metadata }) => `${metadata.name}.${metadata.namespace}.svc`);
      assert.ok("runner" in each && services.includes(each.runner));
    }
  });

  it("come after the CRDs: what they create must be known", async () => {
    const { registrations } = plain;
    const outside = registrations.find(({ type }) => type === "argosy:index:OutsideEvents");
    assert.ok(outside);
    const intake = registrations.find(({ name }) => name === "argosy-outside-intake");
    const crds = registrations.filter(({ type }) => type.endsWith(":CustomResourceDefinition"));
    for (const { urn, name } of crds.filter(({ name }) => name.includes("shop.example.com")))
      assert.ok(intake?.dependencies.includes(urn), name);
  });

  it("have names that depend on nothing but the operator's and their own", async () => {
    const subjectsOf = async (definitions: SampleProgram["definitions"]) => {
      const { manifests } = await run(operatorsProgram({ ...sample, definitions }, STORAGE));
      return specOf(manifests, "Sensor", "argosy-outside").dependencies.map(({ eventName }) => eventName);
    };
    const [all, some] = [await subjectsOf(sample.definitions), await subjectsOf(sample.definitions.slice(2))];
    assert.deepEqual(all.slice(2), some);
  });

  it("are more than one Sensor can carry, and that is said", async () => {
    const [gear] = sample.definitions.slice(1, 2);
    const [event] = gear?.on ?? [];
    assert.ok(gear && event);
    const on = Array.from({ length: 200 }, (_, index) => ({
      ...event,
      name: `e${index}`,
      source: { index },
    }));
    const many = { ...sample, definitions: [{ ...gear, on }] };
    await assert.rejects(
      run(operatorsProgram(many, STORAGE)),
      /is the last of 200 events of the operators, and one Sensor can carry fewer\. Remove some events/,
    );
  });

  it("take several intakes, resources, places and transforms", async () => {
    assert.ok(POD_PARTS.includes("intake"));
    const manifests = await outsideOf({
      outsideEvents: { storage: "1Gi", intakes: 2 },
      pods: { intake: { nodeSelector: { disk: "ssd" } } },
      resources: { intake: { limits: { memory: "512Mi" } } },
      transform: {
        intake: (deployment) => {
          deployment.metadata.annotations = { seen: "true" };
        },
        outsideEventSource: (source) => {
          source.spec.replicas = 1;
        },
      },
    });
    const intake = find(manifests, "Deployment", "argosy-outside-intake");
    assert.deepEqual(intake.metadata.annotations, { seen: "true" });
    const { replicas, template } = intake["spec"] as Spec;
    assert.equal(replicas, 2);
    assert.deepEqual(template.spec.nodeSelector, { disk: "ssd" });
    assert.deepEqual(template.spec.containers[0]?.resources.limits, { memory: "512Mi" });
    await assert.rejects(
      outsideOf({
        ...STORAGE,
        transform: {
          outsideEventBus: (bus) => {
            delete bus.spec.jetstream.persistence;
          },
        },
      }),
      /transform\.outsideEventBus .* changes spec\.jetstream\.persistence/,
    );
  });
});
