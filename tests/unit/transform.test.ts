import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import type { OperatorsArgs } from "../../components/arguments/arguments";
import {
  TRANSFORM_PARTS,
  TransformError,
  type Transforms,
  transformed,
  type UntypedManifest,
} from "../../components/manifests/transform";
import type { Manifest } from "../../runtime/base/objects";
import { run } from "./support/program";
import { EVERY_FORM, operatorsProgram, type Sample, sampleProgram } from "./support/sampleOperators";

const MONITORING = { podMonitor: true, alertRules: true, dashboard: true };

/** An operator with parts of its own for events from outside. */
const LISTENING: Sample = {
  name: "bell",
  on: {
    ring: {
      webhook: {
        endpoint: "/ring",
        method: "POST",
        port: "12000",
        authSecret: { name: "ring", key: "token" },
      },
      id: ["body.id"],
      create: { kind: "Bell", namespace: "team-a", spec: {} },
    },
  },
};

/** A function that a test gives to whatever part, whatever its type. */
type AnyTransform = (manifest: UntypedManifest) => unknown;

describe("a transform", function () {
  this.timeout(120_000);
  const sample = sampleProgram([...EVERY_FORM, LISTENING]);

  // What `argosy render` does too: the program runs, and what it registers is taken as manifests.
  const made = async (transform: object): Promise<readonly Manifest[]> => {
    const guards = { children: true, annotations: { groups: [] } };
    const args: Partial<OperatorsArgs> = { transform, guards, outsideEvents: { storage: "1Gi" } };
    const platform = { monitoring: MONITORING };
    return (await run(operatorsProgram(sample, { ...args, platform }))).manifests;
  };
  let plain: readonly Manifest[];
  /** The first manifest of each part, as a transform is given it. */
  const given = new Map<string, Manifest>();
  before(async () => {
    plain = await made({});
    const note =
      (part: string): AnyTransform =>
      (manifest) =>
        void given.set(part, given.get(part) ?? (structuredClone(manifest) as Manifest));
    await made(Object.fromEntries(TRANSFORM_PARTS.map((part) => [part, note(part)])));
  });

  it("changes the manifests of its part and no others, each part in its turn", async () => {
    const mark =
      (part: string): AnyTransform =>
      (manifest) => {
        manifest.metadata.annotations = { ...manifest.metadata.annotations, [`example.com/${part}`]: "yes" };
      };
    const transform = Object.fromEntries(TRANSFORM_PARTS.map((part) => [part, mark(part)]));
    const manifests = await made(transform);
    const marks = manifests.map(({ metadata }) =>
      Object.keys(metadata.annotations ?? {}).filter((key) => key.startsWith("example.com/")),
    );
    assert.ok(marks.every((each) => each.length <= 1));
    assert.deepEqual(new Set(marks.flat()), new Set(TRANSFORM_PARTS.map((part) => `example.com/${part}`)));
    const without = manifests.map(({ metadata, ...manifest }) => {
      const kept = Object.entries(metadata.annotations ?? {}).filter(
        ([key]) => !key.startsWith("example.com/"),
      );
      const { annotations: _, ...others } = metadata;
      return {
        ...manifest,
        metadata: { ...others, ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }) },
      };
    });
    assert.deepEqual(without, plain);
  });

  it("may add a label to every part, which no selector gets with it", async () => {
    const mark: AnyTransform = ({ metadata }) => {
      metadata.labels ??= {};
      metadata.labels["example.com/team"] = "shop";
    };
    const manifests = await made(Object.fromEntries(TRANSFORM_PARTS.map((part) => [part, mark])));
    const marked = manifests.filter((manifest) => JSON.stringify(manifest).includes("example.com/team"));
    assert.ok(marked.length >= TRANSFORM_PARTS.length);
    for (const { metadata, ...others } of marked) {
      assert.equal(metadata.labels?.["example.com/team"], "shop");
      assert.ok(!JSON.stringify(others).includes("example.com/team"), metadata.name);
    }
  });

  it("is called once for each manifest", async () => {
    const seen: string[] = [];
    const transform = Object.fromEntries(
      TRANSFORM_PARTS.map((part): [string, AnyTransform] => [
        part,
        ({ kind, metadata: { namespace = "", name } }) =>
          void seen.push(`${part}: ${kind} ${namespace}/${name}`),
      ]),
    );
    await made(transform);
    assert.deepEqual(new Set(seen.map((each) => each.split(":")[0])), new Set(TRANSFORM_PARTS));
    assert.deepEqual(seen.toSorted(), [...new Set(seen)].toSorted());
  });

  it("may add to a Sensor what its pod can be given, and no more", async () => {
    const withComment = (length: number): Transforms => ({
      sensor: (sensor) => {
        sensor.spec.comment = "x".repeat(length);
      },
    });
    assert.ok((await made(withComment(50_000))).length > 0);
    await assert.rejects(
      made(withComment(100_000)),
      /^(Run)?Error: transform\.sensor of the Sensor argosy makes \d+ bytes of it, and its pod can be given 126976\. Add less\.$/,
    );
  });

  const gearRunner = (manifests: readonly Manifest[]) => {
    const isIt = ({ kind, metadata }: Manifest) => kind === "Deployment" && metadata.name === "gear-runner";
    const runner = manifests.find(isIt);
    assert.ok(runner);
    return runner;
  };

  it("reaches into the pod of a runner, whose fields have Kubernetes' own types", async () => {
    const transform: Transforms = {
      runner: (deployment) => {
        const { spec } = deployment.spec.template;
        spec.dnsPolicy = "Default";
        spec.containers.push({ name: "sidecar", image: "example.com/sidecar:1" });
        spec.volumes = [...(spec.volumes ?? []), { name: "cache", emptyDir: {} }];
      },
      keeper: (deployment) => {
        // @ts-expect-error a wrong field does not compile
        deployment.spec.replica = 1;
      },
    };
    const { runner } = transform;
    const manifests = await made({ runner });
    const text = JSON.stringify(gearRunner(manifests).spec);
    assert.match(text, /"dnsPolicy":"Default"/);
    assert.match(text, /"name":"sidecar"/);
    assert.match(text, /"emptyDir":\{\},"name":"cache"/);
  });

  it("may return another manifest, or set a field that Argosy does not need to undefined", async () => {
    const manifests = await made({
      runnerDisruptionBudget: (budget: UntypedManifest) => ({
        ...budget,
        spec: { ...budget.spec, maxUnavailable: 2 },
      }),
      runner: (deployment: UntypedManifest) => {
        deployment.spec.revisionHistoryLimit = undefined;
      },
    });
    const budget = manifests.find(({ kind }) => kind === "PodDisruptionBudget");
    assert.match(JSON.stringify(budget?.spec), /"maxUnavailable":2/);
    assert.ok(!("revisionHistoryLimit" in (gearRunner(manifests).spec as object)));
  });

  it("changes a copy: what is built afterwards without it is as before", async () => {
    await made({
      eventBus: (bus: UntypedManifest) => {
        bus.spec.jetstream.securityContext.runAsUser = 1;
        bus.spec.jetstream.containerTemplate.securityContext.capabilities.drop.push("NONE");
      },
    });
    assert.deepEqual(await made({}), plain);
  });

  it("restarts the event source when it changes the Sensor, as any change of a Sensor does", async () => {
    const manifests = await made({
      sensor: (sensor: UntypedManifest) => {
        sensor.spec.triggers[0].rateLimit = { unit: "Second", requestsPerUnit: 5 };
      },
    });
    const annotation = (all: readonly Manifest[]) =>
      JSON.stringify(all.find(({ kind }) => kind === "EventSource")?.spec).match(
        /"argosy.dev\/sensor":"([^"]+)"/,
      )?.[1];
    assert.notEqual(annotation(manifests), annotation(plain));
  });

  const RUNNER = "spec.template.spec";
  const REFUSED: readonly (readonly [part: keyof Transforms, change: AnyTransform, says: RegExp])[] = [
    [
      "runner",
      put("metadata.name", "a"),
      /^transform\.runner of the Deployment gear-runner changes metadata\.name, which/,
    ],
    ["runner", put("metadata.namespace", "a"), /changes metadata\.namespace, .* Do not change this field\.$/],
    ["runner", put("kind", "StatefulSet"), /changes kind/],
    ["runner", put("apiVersion", "apps/v2"), /changes apiVersion/],
    ["runner", remove("metadata.labels"), /changes metadata\.labels/],
    ["runner", put("spec.selector.matchLabels", {}), /changes spec\.selector/],
    ["runner", put("spec.template.metadata.labels", {}), /changes spec\.template\.metadata\.labels/],
    ["runner", remove(`${RUNNER}.containers.1`), /changes spec\.template\.spec\.containers\[handler\]/],
    ["runner", remove(`${RUNNER}.volumes.0`), /changes spec\.template\.spec\.volumes\[engine\]/],
    ["runner", put(`${RUNNER}.containers.0.command.3`, "x"), /containers\[runner\]\.command/],
    ["runner", remove(`${RUNNER}.containers.0.env.0`), /containers\[runner\]\.env\[ARGOSY_NAMESPACE\]/],
    ["runner", put(`${RUNNER}.serviceAccountName`, "admin"), /serviceAccountName/],
    ["keeper", put("spec.replicas", 2), /changes spec\.replicas/],
    ["workflowController", put("spec.strategy", {}), /changes spec\.strategy/],
    ["workflowConfiguration", remove("data.workflowRestrictions"), /data\.workflowRestrictions/],
    ["eventBus", put("spec.jetstream.version", "1"), /spec\.jetstream\.version/],
    ["eventSource", put("spec.resource.gear.filter", {}), /spec\.resource/],
    ["sensor", remove("spec.triggers.0"), /spec\.triggers/],
    ["sensor", put("spec.dependencies.0.filters", {}), /spec\.dependencies/],
    ["workflowTemplate", put("spec.templates", []), /spec\.templates\[reconcile\]/],
    ["runnerNetworkPolicy", remove("spec.ingress.0"), /spec\.ingress/],
    ["runnerService", put("spec.ports.0.port", 1), /spec\.ports\[hints\]\.port/],
    ["crd", put("spec.versions.0.served", false), /spec\.versions\[v1\]\.served/],
    ["crd", remove("metadata.annotations"), /metadata\.annotations/],
    [
      "guard",
      put("spec.matchConstraints.resourceRules.0.resources", ["none"]),
      /spec\.matchConstraints\.resourceRules/,
    ],
    ["runner", async () => {}, /returned a promise\. Return the manifest, or change the one/],
    ["runner", () => 7, /returned 7\./],
    ["runner", () => null, /returned null\./],
    [
      "runner",
      (manifest) => manifest.spec.no.such.field,
      /failed: Cannot read properties of undefined .*\. Correct the function\.$/,
    ],
    [
      "runner",
      put("spec.replicas", pulumi.output(1)),
      /puts a value that is not plain data into spec\.replicas\. Give text/,
    ],
    [
      "runner",
      put("spec.minReadySeconds", () => 1),
      /puts a value that is not plain data into spec\.minReadySeconds/,
    ],
  ];
  for (const [index, [part, change, says]] of REFUSED.entries()) {
    it(`is refused in words: ${part}, ${says.source.replaceAll("\\", "").slice(0, 60)} (${index})`, () => {
      const manifest = given.get(part);
      assert.ok(manifest);
      assert.throws(() => transformed(part, manifest, { transform: { [part]: change } as Transforms }), {
        message: says,
      });
    });
  }

  it("is refused for the whole program, with all others", async () => {
    await assert.rejects(
      made({ runner: put("kind", "StatefulSet") }),
      /transform\.runner of the Deployment gear-runner changes kind/,
    );
  });

  it("removes no field of a CRD that is called as one of a pod, with what users have in it", () => {
    const schema = { properties: { spec: { properties: { image: { type: "string" }, resources: {} } } } };
    const versions = [{ name: "v1", schema: { openAPIV3Schema: schema } }];
    const crd = { apiVersion: "v1", kind: "Crd", metadata: { name: "a" }, spec: { versions } };
    for (const field of ["image", "resources"]) {
      const path = `spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.${field}`;
      const transform = { crd: remove(path) } as Transforms;
      assert.throws(() => transformed("crd", crd, { transform }), new RegExp(`changes spec.*\\.${field},`));
    }
  });

  it("is refused by an error of its own, with what a function has thrown as its cause", () => {
    const thrown = new Error("no");
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } } as const;
    const throws = () => {
      throw thrown;
    };
    assert.throws(
      () => transformed("namespace", namespace, { transform: { namespace: throws } }),
      (error) => error instanceof TransformError && error.cause === thrown,
    );
    assert.equal(transformed("namespace", namespace, {}), namespace);
  });
});

/** A transform that gives a field another value: "spec.ports.0.port". */
function put(path: string, value: unknown): AnyTransform {
  return (manifest) => {
    const fields = path.split(".");
    const last = fields.pop() ?? "";
    // biome-ignore lint/suspicious/noExplicitAny: whatever the manifest has
    const parent = fields.reduce((each: any, field) => each[field], manifest);
    if (value === undefined && Array.isArray(parent)) parent.splice(Number(last), 1);
    else parent[last] = value;
  };
}

function remove(path: string): AnyTransform {
  return put(path, undefined);
}
