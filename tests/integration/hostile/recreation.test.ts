import assert from "node:assert/strict";
import type { JsonObject, Manifest } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { configMap, customResourceDefinition, inNamespace, job, OPEN_SCHEMA } from "../support/manifests";
import { answering, conditionOf, useOperator } from "../support/useOperator";

describe("where a child must be deleted and created again", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "recreated",
    children: [
      { apiVersion: "v1", kind: "Service", update: "recreate" },
      { apiVersion: "batch/v1", kind: "Job", update: "recreate" },
    ],
  });
  const there = (manifest: Manifest) => bench.api.get(inNamespace(manifest, bench.namespace));
  const specOf = async (manifest: Manifest) => (await there(manifest))["spec"] as JsonObject;

  it("a Service keeps the port of the nodes that the old one held", async () => {
    // The API server gives a free one: a number of our choice might be in use.
    const service = (address: object, nodePort?: number): Manifest => {
      const ports = [{ port: 80, ...(nodePort !== undefined && { nodePort }) }];
      const spec = { type: "NodePort", ports, selector: { app: "x" }, ...address };
      return { apiVersion: "v1", kind: "Service", metadata: { name: "ported" }, spec };
    };
    const object = await bench.applied("ported", answering(service({})));
    const { clusterIP, ports } = (await specOf(service({}))) as { clusterIP: string; ports: JsonObject[] };
    const nodePort = ports[0]?.["nodePort"] as number;
    // The API server gives the lowest addresses only to Services that name them (KEP 3070).
    const other = clusterIP.replace(/\d+$/, "13");
    await bench.applyObject("ported", answering(service({ clusterIP: other }, nodePort)));
    await bench.ready(object);
    const spec = (await specOf(service({}))) as { clusterIP: string; ports: JsonObject[] };
    assert.deepEqual([spec.clusterIP, spec.ports[0]?.["nodePort"]], [other, nodePort]);
  });

  it("and a quota leaves no room for two, the object says why the old one stays, and goes on when there is room", async () => {
    const hard = (count: string): Manifest => ({
      ...inNamespace(
        { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "jobs" } },
        bench.namespace,
      ),
      spec: { hard: { "count/jobs.batch": count } },
    });
    await bench.api.apply(hard("1"));
    await eventually(async () => {
      const { status } = (await bench.api.get(hard("1"))) as { status?: { used?: object } };
      assert.ok(status?.used, "not counted yet");
    });
    const object = await bench.applyObject("full", answering(job("full", "example.com/one:1")));
    const { uid } = (await eventually(() => there(job("full", "")))).metadata;
    await bench.applyObject("full", answering(job("full", "example.com/two:1")));
    const { message } = await bench.failed(object, "ChildRefused");
    assert.match(message, /would refuse the new one: .*exceeded quota: jobs/);
    assert.equal((await there(job("full", ""))).metadata.uid, uid);
    await bench.api.apply(hard("2"));
    await eventually(async () => {
      const { status } = (await bench.api.get(hard("2"))) as { status?: { hard?: JsonObject } };
      assert.equal(status?.hard?.["count/jobs.batch"], "2");
    });
    await bench.reconcileAgain(object);
    await eventually(async () => {
      assert.notEqual((await there(job("full", ""))).metadata.uid, uid);
      assert.notEqual(conditionOf(await bench.api.get(object), "Ready").reason, "ChildRefused");
    });
  });
});

describe("where a child's name follows from its content", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "name-bound",
    children: [
      { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", update: "recreate" },
    ],
  });

  it("the child stays, since no dry run can try it, and the object says that a user must delete it", async () => {
    const scoped = (scope: string) => {
      const { spec, ...rest } = customResourceDefinition("bound.example.com", "Bound", { spec: OPEN_SCHEMA });
      return { ...rest, spec: { ...(spec as JsonObject), scope } };
    };
    const object = await bench.applied("bound", answering(scoped("Namespaced")));
    const { uid } = (await bench.api.get(scoped("Namespaced"))).metadata;
    await bench.applyObject("bound", answering(scoped("Cluster")));
    const { message } = await bench.failed(object, "ChildRefused");
    assert.match(message, /dry run under another name .* Delete it yourself .*: it is created again\./);
    assert.match(message, /The change was refused: .*spec\.scope.*: field is immutable/);
    assert.equal((await bench.api.get(scoped("Namespaced"))).metadata.uid, uid);
    await bench.api.delete(scoped("Namespaced"));
    await bench.ready(object);
    const spec = (await bench.api.get(scoped("Cluster")))["spec"] as JsonObject;
    assert.equal(spec["scope"], "Cluster");
    await bench.api.delete(object);
    await eventually(() => bench.api.assertGone(object));
  });
});

describe("where a quota has no room for a child under another name", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "renaming-full" });

  it("the object says that the old child must be deleted by hand, and goes on when that is done", async () => {
    const quota: Manifest = {
      ...inNamespace(
        { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "maps" } },
        bench.namespace,
      ),
      spec: { hard: { "count/configmaps": "9" } },
    };
    await bench.applied("renames", answering(configMap("old")));
    const used = async () => {
      const { status } = (await bench.api.get(quota)) as {
        status?: { used?: JsonObject; hard?: JsonObject };
      };
      return status;
    };
    await bench.api.apply(quota);
    const count = await eventually(async () => {
      const now = (await used())?.used?.["count/configmaps"];
      assert.ok(now !== undefined && Number(now) > 0, "not counted yet");
      return String(now);
    });
    await bench.api.apply({ ...quota, spec: { hard: { "count/configmaps": count } } });
    await eventually(async () => assert.equal((await used())?.hard?.["count/configmaps"], count));
    const object = await bench.applyObject("renames", answering(configMap("new")));
    const { message } = await bench.failed(object, "ChildRefused");
    assert.match(message, /exceeded quota: .*If ConfigMap .*\/old, which .*, delete it by hand\./);
    await bench.api.delete(inNamespace(configMap("old"), bench.namespace));
    await bench.ready(object);
    await bench.api.get(inNamespace(configMap("new"), bench.namespace));
  });
});

describe("where a child under another name needs what the old one holds alone", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "renaming-ported", children: ["v1/ConfigMap", "v1/Service"] });

  it("the object says that the old child must be deleted by hand, and goes on when that is done", async () => {
    const service = (name: string, nodePort?: number): Manifest => {
      const ports = [{ port: 80, ...(nodePort !== undefined && { nodePort }) }];
      const spec = { type: "NodePort", ports, selector: { app: "x" } };
      return { apiVersion: "v1", kind: "Service", metadata: { name }, spec };
    };
    await bench.applied("renames", answering(configMap("a"), service("old")));
    const old = inNamespace(service("old"), bench.namespace);
    const { ports } = (await bench.api.get(old))["spec"] as { ports: { nodePort: number }[] };
    const object = await bench.applyObject("renames", answering(service("new", ports[0]?.nodePort)));
    const { message } = await bench.failed(object, "ChildRefused");
    assert.match(message, /already allocated\. .*If Service .*\/old, which .*, delete it by hand\./);
    await bench.api.delete(old);
    await bench.ready(object);
  });
});
