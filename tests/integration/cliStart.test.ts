import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ControlPlane, startControlPlane } from "../../cli/controlPlane";
import { steps } from "../../cli/scene/steps";
import { connectionFromKubeconfig } from "../../preflight/kubeconfig";
import { microTimeOf } from "../../runtime/base/objects";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { eventually } from "../support/eventually";
import { runArgosy } from "../unit/support/runArgosy";
import { CommandProcess, processesNaming } from "./cliProcess";

const CRD = builtIn("apiextensions.k8s.io/v1", "CustomResourceDefinition");
const NAMESPACE = builtIn("v1", "Namespace");

describe("npm start", function () {
  this.timeout(180_000);
  let folder: string;
  let command: CommandProcess | undefined;

  beforeEach(async () => {
    folder = await realpath(await mkdtemp(path.join(tmpdir(), "argosy-start-")));
  });
  afterEach(async () => {
    command?.kill();
    await rm(folder, { recursive: true, force: true });
  });

  function start(...args: string[]): CommandProcess {
    command = new CommandProcess("npm", ["start", "--silent", "--", ...args], folder);
    return command;
  }

  async function assertNothingIsLeft(): Promise<void> {
    assert.deepEqual(await processesNaming(folder), []);
    // What Node itself keeps there is none of ours.
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.startsWith("argosy")),
      [],
    );
  }

  it("plays the scene, every step of which holds, and leaves nothing", async () => {
    const scene = start();
    assert.equal(await scene.ended(), 0, scene.stdout + scene.stderr);
    const held = scene.stdout.split("\n").filter((line) => /^✔ +\d+ ms {2}/.test(line));
    assert.equal(held.length, steps.length);
    assert.match(scene.stdout, new RegExp(`^${steps.length} steps held, in .* s$`, "m"));
    await assertNothingIsLeft();
  });

  it("ends on Ctrl-C, though the API server no longer answers, and leaves nothing", async () => {
    const scene = start();
    await scene.printed(/they become ready/);
    const [cluster = ""] = (await readdir(folder)).filter((name) => name.startsWith("argosy-cluster"));
    const file = path.join(folder, cluster, "clusters/argosy/pids/kube-apiserver.pid");
    process.kill(Number(await readFile(file, "utf8")), "SIGSTOP");
    // By then requests are on their way.
    await pause(1_000);
    const before = performance.now();
    scene.interrupt();
    assert.equal(await scene.ended(), 130, scene.stderr);
    assert.ok(performance.now() - before < 90_000, "it waited for the API server");
    await assertNothingIsLeft();
  });

  describe("on a cluster of the user's", () => {
    let controlPlane: ControlPlane;
    let client: KubernetesClient;

    before(async () => {
      controlPlane = await startControlPlane();
      client = new KubernetesClient(await connectionFromKubeconfig(controlPlane.kubeconfig));
    });
    after(async () => {
      client?.close();
      await controlPlane?.stop();
    });

    /** A scene that is refused needs no process of its own. */
    const refused = async () => {
      const { result, stderr } = await runArgosy("start", "--kubeconfig", controlPlane.kubeconfig);
      assert.equal(result, 1);
      assert.deepEqual(await scenesNamespaces(), []);
      return stderr;
    };
    const scenesNamespaces = async () => {
      const names: string[] = [];
      await client.list(
        NAMESPACE,
        {},
        (items) => void names.push(...items.map(({ metadata }) => metadata.name)),
      );
      return names.filter((name) => name.startsWith("argosy"));
    };

    it("removes what it has made, also after Ctrl-C", async () => {
      const scene = start("--kubeconfig", controlPlane.kubeconfig);
      await scene.printed(/other objects are not held up/);
      assert.equal((await scenesNamespaces()).length, 1);
      scene.interrupt();
      assert.equal(await scene.ended(), 130, scene.stderr);
      assert.deepEqual(await scenesNamespaces(), []);
      assert.equal(await client.get(CRD, { name: "memcacheds.cache.example.com" }), undefined);
      for (const kind of ["ClusterRole", "ClusterRoleBinding"]) {
        const all = await client.listAll(builtIn("rbac.authorization.k8s.io/v1", kind), {});
        const names = all.map(({ metadata }) => metadata.name);
        assert.deepEqual(
          names.filter((name) => name.startsWith("argosy")),
          [],
        );
      }
      await assertNothingIsLeft();
    });

    it("is not played while another process works for the operator: it would take that one's rights", async () => {
      const lease = builtIn("coordination.k8s.io/v1", "Lease");
      const metadata = { name: "argosy-argosy.memcached", namespace: "default" };
      const spec = { holderIdentity: "dev", leaseDurationSeconds: 15, renewTime: microTimeOf(new Date()) };
      await client.create(lease, { apiVersion: lease.apiVersion, kind: lease.kind, metadata, spec });
      assert.match(
        await refused(),
        /memcached runs in this cluster: the Lease default\/argosy-argosy\.memcached is held/,
      );
      await client.delete(lease, metadata);
    });

    it("leaves the CRD that it has made if a user has made objects of it during the scene", async () => {
      const scene = start("--kubeconfig", controlPlane.kubeconfig);
      await scene.printed(/they become ready/);
      const apiVersion = "cache.example.com/v1alpha1";
      const theirs = { apiVersion, kind: "Memcached", plural: "memcacheds", namespaced: true };
      const metadata = { name: "theirs", namespace: "default" };
      await client.create(theirs, { apiVersion, kind: theirs.kind, metadata, spec: { size: 1 } });
      scene.interrupt();
      assert.equal(await scene.ended(), 130, scene.stderr);
      assert.ok(await client.get(theirs, metadata), "their object is gone");
      assert.match(scene.stderr, /memcacheds\.cache\.example\.com stays, because .* default\/theirs/);
      await client.delete(CRD, { name: "memcacheds.cache.example.com" });
      await eventually(async () =>
        assert.equal(await client.get(CRD, { name: "memcacheds.cache.example.com" }), undefined),
      );
    });

    it("does not touch a ClusterRole of another client, as of an operator of that name with runs in pods", async () => {
      const role = builtIn("rbac.authorization.k8s.io/v1", "ClusterRole");
      const metadata = { name: "argosy.memcached-runner" };
      const rules = [{ apiGroups: ["shop.example.com"], resources: ["memcacheds"], verbs: ["get"] }];
      await client.create(role, { apiVersion: role.apiVersion, kind: role.kind, metadata, rules });
      assert.match(await refused(), /ClusterRole argosy\.memcached-runner that Argosy did not apply/);
      assert.deepEqual((await client.get(role, metadata))?.["rules"], rules);
      assert.equal(await client.get(CRD, { name: "memcacheds.cache.example.com" }), undefined);
      await client.delete(role, metadata);
    });

    it("does not touch a CRD of another client", async () => {
      await client.create(CRD, {
        apiVersion: CRD.apiVersion,
        kind: CRD.kind,
        metadata: { name: "memcacheds.cache.example.com" },
        spec: {
          group: "cache.example.com",
          scope: "Namespaced",
          names: { kind: "Memcached", plural: "memcacheds" },
          versions: [
            { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
          ],
        },
      });
      assert.match(await refused(), /memcacheds\.cache\.example\.com that Argosy did not apply/);
    });
  });
});
