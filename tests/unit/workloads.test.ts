import assert from "node:assert/strict";
import type { OperatorsArgs } from "../../components/arguments/arguments";
import { handlerImageOf, IMAGES } from "../../components/manifests/images";
import type { PodOptions } from "../../components/manifests/pods";
import { RESOURCES } from "../../components/manifests/resources";
import {
  checkWorkloadOptions,
  WORKLOAD_KEYS,
  type WorkloadOptions,
} from "../../components/manifests/workloads";
import type { Manifest } from "../../runtime/base/objects";
import { FUNCTION_IMAGES, type Operator } from "../../runtime/operator/definition";
import { type ArgoKind, argoValidator } from "./support/argoSchemas";
import { breachesOf, podsOf } from "./support/podSecurity";
import { type Run, run } from "./support/program";
import { EVERY_FORM, operatorsProgram, sampleProgram } from "./support/sampleOperators";

const DIGEST = `@sha256:${"a".repeat(64)}`;
const AFFINITY = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }],
    },
  },
};

/** Every option of pods. The name tells where it was given. */
function everything(name: string): Required<PodOptions> {
  return {
    nodeSelector: { [name]: "yes" },
    tolerations: [{ key: name, operator: "Exists" }],
    affinity: AFFINITY,
    priorityClassName: name,
    labels: { [`example.com/${name}`]: "yes" },
    annotations: { [`example.com/${name}`]: "yes" },
    serviceAccountAnnotations: { "iam.example.com/account": name },
  };
}

const PARTS = ["Deployment", "EventBus", "EventSource", "Sensor", "WorkflowTemplate"];

describe("the options of what Argosy makes", function () {
  this.timeout(120_000);
  const sample = sampleProgram(EVERY_FORM);

  const made = (args: Partial<OperatorsArgs>): Promise<Run> => run(operatorsProgram(sample, args));
  let plain: Run;
  before(async () => {
    plain = await made({});
  });
  const workloadsOf = (manifests: readonly Manifest[]) =>
    manifests.filter(({ kind }) => PARTS.includes(kind));
  const named = (manifests: readonly Manifest[], kind: string, name: string) => {
    const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
    assert.ok(found, `${kind} ${name}`);
    return found;
  };

  it("leave every pod within the restricted Pod Security Standard", async () => {
    const { manifests } = await made({
      placement: { ...everything("all"), registry: "mirror.example.com", imagePullSecrets: ["pull"] },
      pods: {
        sensor: everything("sensor"),
        operators: { gear: everything("gear"), press: everything("press") },
      },
      resources: { runner: { limits: { memory: "1Gi" } } },
      images: { engine: DIGEST },
    });
    const workloads = workloadsOf(manifests);
    assert.ok(workloads.length >= 10);
    for (const each of workloads) {
      const isPlugin = each.kind === "WorkflowTemplate" && JSON.stringify(each.spec).includes('"plugin"');
      assert.equal(podsOf(each).length > 0, !isPlugin, each.metadata.name);
      for (const { containers } of podsOf(each)) assert.ok(containers.length > 0, each.metadata.name);
    }
    assert.deepEqual(workloads.flatMap(breachesOf), []);
  });

  it("have a check of that Standard which sees what breaks it", () => {
    const manifest = (spec: object): Manifest => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "a" },
      spec: { template: { spec } },
    });
    const security = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };
    const container = {
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
      capabilities: { drop: ["ALL"] },
    };
    const good = { securityContext: security, containers: [{ name: "c", securityContext: container }] };
    assert.deepEqual(breachesOf(manifest(good)), []);
    const bad = [
      { ...good, securityContext: {} },
      { ...good, hostNetwork: true },
      { ...good, volumes: [{ name: "v", hostPath: { path: "/" } }] },
      { ...good, containers: [{ name: "c" }] },
      {
        ...good,
        containers: [{ name: "c", securityContext: { ...container, readOnlyRootFilesystem: false } }],
      },
      { ...good, initContainers: [{ name: "i", securityContext: { ...container, privileged: true } }] },
    ];
    for (const spec of bad) assert.notDeepEqual(breachesOf(manifest(spec)), [], JSON.stringify(spec));
  });

  it("reach every pod, those of Argo's included, and leave selectors and names alone", async () => {
    const { manifests } = await made({ placement: { ...everything("all"), imagePullSecrets: ["pull"] } });
    const workloads = workloadsOf(manifests);
    for (const { kind, metadata, spec } of workloads) {
      const text = JSON.stringify(spec);
      if (text.includes('"plugin"')) continue;
      for (const part of [
        '"nodeSelector":{"all":"yes"}',
        '"tolerations":[{"key":"all","operator":"Exists"}]',
        '"nodeAffinity"',
        '"imagePullSecrets":[{"name":"pull"}]',
        kind === "WorkflowTemplate" ? '"podPriorityClassName":"all"' : '"priorityClassName":"all"',
        '"example.com/all":"yes"',
      ]) {
        assert.ok(text.includes(part), `${kind} ${metadata.name}: ${part}`);
      }
      const twice = text.split('"example.com/all":"yes"').length - 1;
      assert.equal(twice, 2, `${kind} ${metadata.name} has the label and the annotation`);
    }
    const selectors = (all: readonly Manifest[]) =>
      all.map(({ kind, metadata, spec }) => [kind, metadata.name, (spec as { selector?: object })?.selector]);
    const withoutHashes = (all: readonly Manifest[]) =>
      selectors(all).filter(([kind]) => kind !== "ConfigMap");
    assert.deepEqual(withoutHashes(manifests), withoutHashes(plain.manifests));
  });

  it("give every account of a pod the annotations of its part or its operator, and no other account any", async () => {
    const { manifests } = await made({
      pods: {
        sensor: everything("sensor"),
        operators: { gear: everything("gear"), press: everything("press"), saw: {} },
        workflowController: everything("controller"),
      },
    });
    const annotated = manifests
      .filter(({ kind, metadata }) => kind === "ServiceAccount" && metadata.annotations)
      .map(({ metadata }) => [metadata.name, metadata.annotations?.["iam.example.com/account"]]);
    assert.deepEqual(Object.fromEntries(annotated), {
      "workflow-controller": "controller",
      "argosy-sensor": "sensor",
      "gear-runner": "gear",
      "press-runner": "press",
      "press-run": "press",
    });
  });

  it("add up: all pods, then those of a part, then those of an operator", async () => {
    const { manifests } = await made({
      placement: { ...everything("all"), nodeSelector: { disk: "ssd", zone: "a" } },
      pods: {
        runner: { nodeSelector: { zone: "b" }, tolerations: [{ key: "part" }], priorityClassName: "part" },
        operators: { gear: { nodeSelector: { zone: "c" }, labels: { team: "shop" } } },
      },
    });
    const podOf = (name: string) =>
      (named(manifests, "Deployment", name).spec as { template: { metadata: object; spec: PodOptions } })
        .template;
    assert.deepEqual(podOf("gear-runner").spec.nodeSelector, { disk: "ssd", zone: "c" });
    assert.deepEqual(podOf("robot-runner").spec.nodeSelector, { disk: "ssd", zone: "b" });
    assert.deepEqual(podOf("argosy-keeper").spec.nodeSelector, { disk: "ssd", zone: "a" });
    assert.deepEqual(podOf("gear-runner").spec.tolerations, [
      { key: "all", operator: "Exists" },
      { key: "part" },
    ]);
    assert.equal(podOf("gear-runner").spec.priorityClassName, "part");
    assert.equal(podOf("argosy-keeper").spec.priorityClassName, "all");
    const { labels } = podOf("gear-runner").metadata as { labels: Record<string, string> };
    assert.equal(labels["team"], "shop");
    assert.equal(labels["app.kubernetes.io/component"], "runner");
  });

  it("keep the members of an event bus apart in addition to the program's own affinity", async () => {
    const { manifests } = await made({
      eventBus: { replicas: 3 },
      pods: { eventBus: { affinity: AFFINITY } },
    });
    const { jetstream } = named(manifests, "EventBus", "argosy").spec as { jetstream: { affinity: object } };
    assert.deepEqual(Object.keys(jetstream.affinity).sort(), ["nodeAffinity", "podAntiAffinity"]);
  });

  it("size each container, and keep Node's heap within its limit", async () => {
    const memory = { requests: { memory: "100Mi" }, limits: { memory: "768Mi" } };
    const resources = Object.fromEntries(WORKLOAD_KEYS.resources.map((name) => [name, memory]));
    const { manifests } = await made({ resources });
    const text = JSON.stringify(workloadsOf(manifests));
    for (const [, figures = ""] of text.matchAll(/"limits":(\{[^}]*\})/g)) {
      assert.equal(figures, '{"memory":"768Mi"}');
    }
    for (const [, heap] of text.matchAll(/--max-old-space-size=(\d+)/g)) assert.equal(heap, "480");
    const { data } = named(manifests, "ConfigMap", "workflow-controller-configmap") as unknown as {
      data: Record<string, string>;
    };
    assert.match(data["executor"] ?? "", /768Mi/);
    const defaults = JSON.stringify(workloadsOf(plain.manifests));
    assert.match(defaults, /--max-old-space-size=160/);
    assert.match(defaults, /--max-old-space-size=48/);
  });

  it("pin or replace every image, from the mirror too", async () => {
    const images = Object.fromEntries(WORKLOAD_KEYS.images.map((name) => [name, DIGEST]));
    const { manifests } = await made({ images, placement: { registry: "mirror.example.com" } });
    const text = JSON.stringify(manifests);
    const used = [...text.matchAll(/mirror\.example\.com[^"\\\s]*/g)].map(([image]) => image);
    assert.ok(used.length > 15);
    const authors = sample.definitions.map(({ handler }) => `mirror.example.com/library/${handler.image}`);
    for (const image of used) assert.ok(image.endsWith(DIGEST) || authors.includes(image), image);
    const ours = Object.values(IMAGES).map(({ repository }) => repository.replace(/^[^/]*\//, ""));
    for (const name of ours)
      assert.ok(
        used.some((image) => image.includes(`/${name}:`)),
        name,
      );
    assert.doesNotMatch(text, /"image":"(?!mirror)/);

    const replaced = await made({
      images: { engine: `registry.example.com:5000/node:1${DIGEST}`, handlerShell: ":2" },
    });
    const runner = JSON.stringify(named(replaced.manifests, "Deployment", "gear-runner"));
    assert.match(runner, /"image":"registry\.example\.com:5000\/node:1@sha256:a{64}"/);
    assert.match(runner, /"image":"docker\.io\/library\/busybox:2"/);
  });

  it("pin the image of functions, and leave an image alone that an author has chosen", () => {
    const images = { python: DIGEST, javascript: ":22.20.0-slim" };
    const imageOf = (handler: object) => handlerImageOf({ handler } as Operator, { placement: {}, images });
    assert.equal(
      imageOf({ function: "main.py", image: FUNCTION_IMAGES.python }),
      `python:3.13-slim${DIGEST}`,
    );
    assert.equal(imageOf({ function: "main.ts", image: FUNCTION_IMAGES.javascript }), "node:22.20.0-slim");
    assert.equal(imageOf({ function: "main.py", image: "python:3.12" }), "python:3.12");
    assert.equal(imageOf({ command: ["a"], image: FUNCTION_IMAGES.python }), "python:3.13-slim");
  });

  it("bound the Workflows that go on at once", async () => {
    const { manifests } = await run(
      operatorsProgram(sample, {
        platform: { parallelism: 7 },
      }),
    );
    const { data } = named(manifests, "ConfigMap", "workflow-controller-configmap") as unknown as {
      data: Record<string, string>;
    };
    assert.equal(data["parallelism"], "7\n");
  });

  it("give Argo's objects only fields that Argo has", async () => {
    const { manifests } = await made({
      placement: { ...everything("all"), imagePullSecrets: ["pull"] },
      resources: { eventBus: { limits: { cpu: "2" } } },
    });
    const ofArgo = manifests.filter(({ apiVersion }) => apiVersion === "argoproj.io/v1alpha1");
    assert.ok(ofArgo.length > 5);
    for (const each of ofArgo) {
      const validate = argoValidator(each.kind as ArgoKind);
      assert.deepEqual(validate(each), [], each.metadata.name);
    }
  });

  it("are refused if they are invalid, each with a remedy", async () => {
    const cases: [Partial<WorkloadOptions>, RegExp][] = [
      [{ images: { engine: "" } }, /^images\.engine is "", which is not an image with a tag or a digest/],
      [{ images: { engine: "node" } }, /^images\.engine is "node", which is not an image/],
      [{ images: { engine: "localhost:5000/node" } }, /^images\.engine/],
      [{ images: { engine: "@sha256:abc" } }, /^images\.engine/],
      [{ images: { engin: ":1" } as object }, /^images\.engin is unknown\. There are .*\bengine\b/],
      [
        { resources: { sensor: { limits: { memory: "much" } } } },
        /^resources\.sensor\.limits\.memory is "much"/,
      ],
      [
        { resources: { sensor: { requests: { memory: "1Gi" } } } },
        /^resources\.sensor\.requests\.memory is 1Gi, and the limit is 512Mi/,
      ],
      [{ resources: { sensor: { limits: { cpu: "10m" } } } }, /^resources\.sensor\.requests\.cpu is 20m/],
      [
        { resources: { keeper: { limits: { memory: "100Mi" } } } },
        /^resources\.keeper\.limits\.memory is 100Mi, and the engine needs 128Mi/,
      ],
      [{ pods: { sensors: {} } as object }, /^pods\.sensors is unknown/],
      [{ pods: { operators: { geer: {} } } }, /^pods\.operators\.geer is unknown\. There are gear\./],
      [{ pods: { sensor: { labels: { "app.kubernetes.io/name": "x" } } } }, /^pods\.sensor\.labels has "app/],
      [{ placement: { annotations: { "argosy.dev/sensor": "x" } } }, /^placement\.annotations has "argosy/],
      [{ transform: { senzor: () => {} } as object }, /^transform\.senzor is unknown/],
    ];
    for (const [options, expected] of cases) {
      const problems = checkWorkloadOptions({ placement: {}, ...options }, ["gear"]);
      assert.equal(problems.length, 1, JSON.stringify(options));
      for (const { key, complaint, remedy } of problems)
        assert.match(`${key} ${complaint}. ${remedy}`, expected);
    }
    await assert.rejects(made({ images: { engine: "node" }, pods: { operators: { geer: {} } } }), {
      name: "ConfigurationError",
      message:
        /^Operators "argosy": pods\.operators\.geer is unknown\. There are gear, press, robot, saw\.\n.*: images\.engine is "node", which is not an image/,
    });
    const right: WorkloadOptions = {
      placement: everything("all"),
      images: {
        engine: DIGEST,
        handlerShell: ":1.2",
        eventBus: `registry.example.com:5000/a/nats:2${DIGEST}`,
        python: "python:3",
      },
      resources: { sensor: { requests: { cpu: "1.5" }, limits: { memory: "2Gi", cpu: "2" } } },
      pods: { operators: { gear: everything("gear") } },
    };
    assert.deepEqual(checkWorkloadOptions(right, ["gear"]), []);
    assert.deepEqual(checkWorkloadOptions({ placement: {} }), []);
    for (const [name, { requests, limits }] of Object.entries(RESOURCES)) {
      const given = { placement: {}, resources: { [name]: { requests, limits } } };
      assert.deepEqual(checkWorkloadOptions(given), [], name);
    }
  });
});
