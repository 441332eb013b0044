import assert from "node:assert/strict";
import { undoOf, type Versions } from "../../cli/inspect/undoRollout";
import { FILES_ANNOTATION, readKeptFiles } from "../../components/manifests/operator/keptFiles";
import { buildRunner } from "../../components/manifests/operator/runner";
import { buildWorkflowTemplate } from "../../components/manifests/operator/workflows";
import type { JsonObject, KubernetesObject } from "../../runtime/base/objects";
import { programFingerprint } from "../../runtime/cli";
import { configMapsOf } from "../../runtime/engine/dispatch/footprint";
import type { RolloutState } from "../../runtime/engine/rollout";
import type { Operator } from "../../runtime/operator/definition";
import { operatorOptions, withFiles } from "./operatorManifests";

const rollout = { firstPercent: 5, pauseSeconds: 60, haltAfterFailures: 3, haltOnDeletions: true };
const crdOf = (type: string): JsonObject => ({
  spec: { versions: [{ name: "v1", storage: true, schema: { openAPIV3Schema: { type } } }] },
});

const USES = { token: { apiVersion: "v1", kind: "Secret", plural: "secrets", name: "spec.secret" } };

/** A version of an operator in a cluster, as the Deployment and its ReplicaSet with that hash have it. */
function version(hash: string, handler: string, more: Partial<Operator> = {}) {
  const { operator, files } = withFiles({ rollout, crd: crdOf("object"), ...more }, { "main.py": handler });
  const options = operatorOptions();
  const runner = buildRunner(operator, options, files) as unknown as KubernetesObject;
  const { template } = runner["spec"] as { template: { metadata: { labels: object } } };
  const labels = { ...template.metadata.labels, "pod-template-hash": hash };
  return {
    deployment: { ...runner, metadata: { ...runner.metadata, uid: "deployment-uid" } } as KubernetesObject,
    replicaSet: {
      ...runner,
      kind: "ReplicaSet",
      spec: { template: { ...template, metadata: { ...template.metadata, labels } } },
    } as KubernetesObject,
    workflowTemplate: buildWorkflowTemplate(operator, options, files) as KubernetesObject,
    names: [files.definition, ...files.handler.map(({ manifest }) => manifest)].map(
      ({ metadata }) => metadata.name,
    ),
    engine: files.engine.metadata.name,
  };
}

type Version = ReturnType<typeof version>;

function versions(before: readonly Version[], now: Version, more: Partial<RolloutState> = {}): Versions {
  const state: RolloutState = {
    program: "new",
    former: "old",
    stage: "first",
    since: "2026-01-01T00:00:00Z",
    ...more,
  };
  return {
    state,
    deployment: now.deployment,
    replicaSets: [now, ...before].map(({ replicaSet }) => replicaSet),
  };
}

describe("the undoing of a staged roll-out", () => {
  const old = version("old", "old");
  const bad = version("bad", "bad");
  const now = version("new", "new");

  it("brings back the pods and the files of the last version that came to its end", () => {
    const { configMaps, needed, template, workflowSpec } = undoOf(versions([bad, old], now));
    assert.deepEqual(
      configMaps.map(({ metadata }) => metadata.name).sort(),
      old.names.map((name) => `${name}-undo`).sort(),
    );
    assert.ok(configMaps.some(({ data }) => (data as JsonObject)["main.py"] === "old"));
    for (const { metadata, immutable } of configMaps as readonly (KubernetesObject & {
      immutable: boolean;
    })[]) {
      assert.equal(metadata.ownerReferences?.[0]?.uid, "deployment-uid");
      assert.equal(metadata.namespace, "argosy");
      assert.ok(immutable);
    }
    assert.deepEqual(needed, [old.engine, "kube-root-ca.crt"]);
    assert.equal(workflowSpec, undefined);
    // All else is as it was.
    const text = JSON.stringify(template).replaceAll("-undo", "");
    const { labels, ...others } = (
      old.replicaSet["spec"] as { template: { metadata: { labels: JsonObject } } }
    ).template.metadata;
    const { "pod-template-hash": _, ...kept } = labels;
    const was = {
      ...(old.replicaSet["spec"] as { template: object }).template,
      metadata: { labels: kept, ...others },
    };
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(was)));
  });

  it("brings back the program of runs with pods of their own, and only exactly that one", () => {
    const pod = { execution: "pod" } as const;
    const [oldPod, newPod] = [version("a", "old", pod), version("b", "new", pod)];
    const former = programFingerprint(oldPod.workflowTemplate["spec"]);
    const { workflowTemplate } = newPod;
    const given = { ...versions([oldPod], newPod, { former }), workflowTemplate };
    const { workflowSpec } = undoOf(given);
    assert.deepEqual(
      [...configMapsOf(workflowSpec)].sort(),
      [oldPod.engine, ...oldPod.names.map((name) => `${name}-undo`)].sort(),
    );
    const other = version("b", "new", {
      ...pod,
      handler: { image: "other:2", command: ["python3", "main.py"] },
    });
    const refused = { ...versions([oldPod], other, { former }), workflowTemplate: other.workflowTemplate };
    assert.throws(() => undoOf(refused), /or it had other images/);
  });

  it("is refused with the reason, and the lasting way", () => {
    const schema = version("new", "new", { crd: crdOf("string") });
    const fewer = version("new", "new", { children: [] });
    const large = version("old", "x".repeat(200_000));
    const rules = [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"] }];
    const forged = structuredClone(old);
    const { template } = forged.replicaSet["spec"] as {
      template: { metadata: { annotations: Record<string, string> } };
    };
    template.metadata.annotations[FILES_ANNOTATION] = (
      template.metadata.annotations[FILES_ANNOTATION] ?? ""
    ).replace('"main.py":"old"', '"main.py":"evil"');
    const undone = { ...now };
    const { template: back } = undoOf(versions([old], now));
    undone.deployment = {
      ...now.deployment,
      spec: { ...(now.deployment["spec"] as object), template: back },
    };
    const refusals: [Versions, RegExp][] = [
      [versions([old], now, { former: undefined }), /no roll-out of an earlier version/],
      [versions([bad], now), /the Deployment no longer has the former version/],
      [versions([old], schema), /the schema of the CRD has changed/],
      [versions([old], fewer), /no rights on \S+ \S+ any more/],
      [
        versions([old], version("new", "new", { namespaces: ["shop"] })),
        /no rights in all namespaces any more/,
      ],
      [
        versions([version("old", "old", { uses: USES })], now),
        /no rights on used objects of v1 Secret any more/,
      ],
      [versions([version("old", "old", { rules })], now), /no rights by the rule .*deployments.* any more/],
      [versions([large], now), /too large/],
      [versions([old], undone), /the former version is back already/],
      [versions([forged], now), /no longer has the former version/],
    ];
    for (const [given, message] of refusals)
      assert.throws(
        () => undoOf(given),
        new RegExp(`${message.source}.*Go back with git revert and pulumi up\\.$`, "s"),
      );
  });

  it("is not refused because the new version has large files, or more rights", () => {
    const larger = version("new", "x".repeat(200_000));
    assert.ok(undoOf(versions([old], larger)).template);
    const fewer = version("old", "old", { namespaces: ["shop"] });
    assert.ok(undoOf(versions([fewer], version("new", "new", { uses: USES }))).template);
  });

  it("needs no annotation of operators without a staged roll-out", () => {
    const { operator, files } = withFiles();
    const { template } = buildRunner(operator, operatorOptions(), files).spec;
    assert.equal(template.metadata?.annotations?.[FILES_ANNOTATION], undefined);
    assert.equal(readKeptFiles(undefined), undefined);
    assert.equal(readKeptFiles("[]"), undefined);
  });
});
