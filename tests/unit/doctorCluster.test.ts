import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Finding } from "../../cli/doctor/checkup";
import { examineCluster } from "../../cli/doctor/cluster";
import { checkNode } from "../../cli/doctor/machine";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { DEFINITION_FILE, definitionFileContent } from "../../runtime/programs/definitionFile";
import { rememberVariables } from "../environment";
import { widgetCrd, writeFolder } from "./operatorFolder";
import { clusterToLookAt } from "./support/clusterToLookAt";
import { observed, operator, widget } from "./support/objects";
import { runArgosy } from "./support/runArgosy";

const NOW = new Date("2026-01-01T12:00:00Z");
const at = (secondsAgo: number) => new Date(NOW.getTime() - secondsAgo * 1000).toISOString();

const there = (kind: string, name: string, content: object) =>
  observed(kind, content, { name, namespace: "argosy" });

function deployed(name: string): KubernetesObject {
  const data = { [DEFINITION_FILE]: definitionFileContent(operator({ name })) };
  return there("ConfigMap", `${name}-definition`, { data });
}

describe("argosy doctor in a cluster", () => {
  const about = async (cluster: KubernetesClient, what: string, program: readonly string[] = []) =>
    (await examineCluster(cluster, program, NOW)).filter((each) => each.what === what);

  it("names each operator of the program that the cluster does not have, which is no problem", async () => {
    const cluster = clusterToLookAt([deployed("cache")]);
    const found = await examineCluster(cluster, ["cache", "press"], NOW);
    assert.deepEqual(
      found.filter(({ what }) => what === "operator press"),
      [
        {
          what: "operator press",
          state: "warning",
          seen: "is in the program, and was not found in this cluster",
          remedy:
            "Deploy it with pulumi up, if this cluster should have it. If what was deployed before has been deleted, run pulumi up --refresh.",
          operator: "press",
        },
      ],
    );
    assert.equal(found.filter(({ what }) => what === "operator cache").length, 1);
    // One whose definition cannot be read is deployed too.
    const strange = there("ConfigMap", "press", { data: {} });
    const [unread, ...others] = await about(clusterToLookAt([deployed("cache"), strange]), "operator press", [
      "press",
    ]);
    assert.deepEqual([unread?.state, others], ["missing", []]);
  });

  it("says once that the cluster has no operators, and both remedies", async () => {
    const found = await examineCluster(clusterToLookAt([]), ["cache", "press"], NOW);
    assert.deepEqual(
      found.filter(({ what }) => what.startsWith("operator")).map(({ seen }) => seen),
      ["none is installed"],
    );
    const [{ remedy } = {}] = found.filter(({ what }) => what === "operators");
    assert.match(
      remedy ?? "",
      /^Deploy them with pulumi up, or .* argosy dev .*\. If what .*, run pulumi up --refresh\.$/,
    );
  });

  it("says nothing of operators that it may not see", async () => {
    const cluster = clusterToLookAt([], (verb) => verb === "list");
    assert.deepEqual(await about(cluster, "operator press", ["press"]), []);
  });

  it("says of an operator that is scaled to zero how that ends", async () => {
    const runner = there("Deployment", "cache-runner", { spec: { replicas: 0 } });
    const cluster = clusterToLookAt([deployed("cache"), runner]);
    const [{ state, seen, remedy } = {}] = await about(cluster, "operator cache");
    assert.deepEqual([state, seen], ["warning", "is scaled to zero"]);
    assert.equal(
      remedy,
      "Scale it to the number of runners that the program has, 1 by default: kubectl -n argosy scale deployment cache-runner --replicas=1",
    );
  });

  it("names an object whose deletion is held up, after a while", async () => {
    const metadata = { deletionTimestamp: at(0), finalizers: ["argosy.dev/argosy.cache"] };
    const cluster = clusterToLookAt([deployed("cache"), widget(metadata)]);
    const seenIn = async (seconds: number) => {
      const now = new Date(NOW.getTime() + seconds * 1000);
      const found = await examineCluster(cluster, [], now);
      return found.filter(({ seen }) => seen.includes("is held up")).map((each) => [each.seen, each.remedy]);
    };
    assert.deepEqual(await seenIn(10), []);
    const [[seen, remedy] = [], ...others] = await seenIn(120);
    assert.deepEqual([seen, others], ["the deletion of shop/widget is held up", []]);
    assert.match(remedy ?? "", /^See why: npm run argosy -- explain /);
  });

  describe("says of the roll-out of a runner, of which a former pod leads,", () => {
    const rollOut = async (condition: object, unavailableReplicas?: number) => {
      const leads = there("Lease", "argosy-argosy.cache", {
        spec: { holderIdentity: "cache-runner-1", renewTime: new Date().toISOString() },
      });
      const conditions = [{ type: "Progressing", message: "It is waited for.", ...condition }];
      const status = { readyReplicas: 1, unavailableReplicas, conditions };
      const runner = there("Deployment", "cache-runner", { spec: { replicas: 1 }, status });
      const [finding] = await about(clusterToLookAt([deployed("cache"), runner, leads]), "operator cache");
      return finding;
    };
    const progressing = { status: "True", reason: "ReplicaSetUpdated" };

    for (const [what, condition, says] of [
      [
        "that it failed",
        { status: "False", reason: "ProgressDeadlineExceeded", lastUpdateTime: at(5) },
        "has failed: It is waited for",
      ],
      [
        "that it has made no progress for a minute",
        { ...progressing, lastUpdateTime: at(70) },
        "has made no progress for a minute",
      ],
    ] as const) {
      it(what, async () => {
        const { state, seen, remedy } = (await rollOut(condition, 1)) ?? {};
        assert.equal(state, "warning");
        assert.equal(seen, `1 ready, led by cache-runner-1, but its roll-out ${says}`);
        assert.match(
          remedy ?? "",
          /^See why: kubectl -n argosy describe deployments,pods .* pulumi up --refresh\.$/,
        );
      });
    }

    for (const [what, condition, unavailable] of [
      ["nothing while it makes progress", { ...progressing, lastUpdateTime: at(50) }, 1],
      ["nothing if all pods are available", { ...progressing, lastUpdateTime: at(70) }, undefined],
      [
        "nothing if it is over",
        { status: "True", reason: "NewReplicaSetAvailable", lastUpdateTime: at(70) },
        1,
      ],
    ] as const) {
      it(what, async () => {
        const { state, seen } = (await rollOut(condition, unavailable)) ?? {};
        assert.deepEqual([state, seen], ["ok", "1 ready, led by cache-runner-1"]);
      });
    }
  });
});

describe("argosy doctor", () => {
  let folder: string;
  const putBack = rememberVariables("ARGOSY_CACHE", "KUBECONFIG", "PATH", "HOME");

  beforeEach(() => {
    folder = writeFolder({
      "Pulumi.yaml": "name: shop\nruntime: nodejs\n",
      "handlers/widget/crd.yaml": widgetCrd(),
      "handlers/widget/main.js": "exports.reconcile = () => ({ children: [] });\n",
      "handlers/widget/operator.yaml": "crd: crd.yaml\nhandler: main.js\nchildren: [v1/Service]\n",
      file: "",
    });
    process.env.ARGOSY_CACHE = path.join(folder, "cache");
    // No kubeconfig anywhere.
    process.env.HOME = folder;
    delete process.env.KUBECONFIG;
  });
  afterEach(putBack);

  async function findings(
    ...args: string[]
  ): Promise<{ code: number; of: (what: string) => Finding | undefined }> {
    const { result, stdout } = await runArgosy("doctor", "--json", "--project", folder, ...args);
    const all = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Finding);
    for (const { state, remedy } of all) assert.equal(state === "ok", remedy === undefined);
    return { code: result, of: (what) => all.find((each) => each.what === what) };
  }

  it("finds a machine, a program and no cluster, and that is no failure", async () => {
    const { code, of } = await findings();
    assert.equal(code, 0);
    assert.deepEqual(of("node"), { what: "node", state: "ok", seen: process.versions.node });
    assert.deepEqual(of("operators"), { what: "operators", state: "ok", seen: "widget" });
    assert.equal(of("control plane")?.state, "warning");
    assert.equal(of("cluster")?.state, "warning");
  });

  it("says that Python is too old, and not that of a later version", async () => {
    process.env.PATH = path.join(folder, "bin");
    mkdirSync(process.env.PATH);
    const python = path.join(process.env.PATH, "python3");
    const found = async (version: string) => {
      writeFileSync(python, `#!/bin/sh\necho Python ${version}\n`, { mode: 0o755 });
      return (await findings()).of("python3");
    };
    assert.deepEqual(await found("3.9.18"), {
      what: "python3",
      state: "warning",
      seen: "Python 3.9.18 is too old for handlers in Python, and npm start",
      remedy: "Install Python 3.10 or newer.",
    });
    assert.deepEqual(await found("3.10.0"), { what: "python3", state: "ok", seen: "Python 3.10.0" });
  });

  it("says which programs are missing, and for what each is", async () => {
    process.env.PATH = path.join(folder, "nowhere");
    mkdirSync(process.env.PATH);
    const { code, of } = await findings();
    assert.match(of("git")?.seen ?? "", /not on the PATH; it is needed for argosy verdict/);
    assert.match(of("docker")?.remedy ?? "", /Docker or Podman/);
    assert.equal(of("operators")?.state, "ok");
    assert.equal(code, 0);
  });

  it("finds a cache that cannot be written", async () => {
    process.env.ARGOSY_CACHE = path.join(folder, "file");
    const { code, of } = await findings();
    assert.deepEqual([code, of("cache")?.state], [3, "missing"]);
    assert.match(of("cache")?.remedy ?? "", /ARGOSY_CACHE/);
  });

  it("finds an operator that is not in order, and names the place", async () => {
    writeFileSync(path.join(folder, "handlers/widget/operator.yaml"), "crd: 3\n");
    const { code, of } = await findings();
    assert.equal(code, 3);
    assert.match(of("operators")?.seen ?? "", /widget\/operator\.yaml:1:\d+: crd/);
  });

  it("finds that a cluster is named and cannot be reached", async () => {
    const { code, of } = await findings("--kubeconfig", path.join(folder, "file"));
    assert.deepEqual([code, of("cluster")?.state], [3, "missing"]);
  });

  it("knows a Node that is too old", () => {
    assert.equal(checkNode("18.0.0").state, "missing");
    assert.equal(checkNode("22.1.0").state, "ok");
  });
});
