import assert from "node:assert/strict";
import { HttpTransport } from "../../runtime/kubernetes/transport";
import { leaseNameOf } from "../../runtime/names";
import { assertChild, createReady, FORMS, SLOW } from "./support/forms";
import { session } from "./support/hooks";
import { waitFor } from "./support/progress";
import { NAMESPACE } from "./support/session";
import { runOf, statusOf, succeeds } from "./support/workflows";

const { resident, pod } = FORMS;

describe("a handler that is edited", () => {
  let slowRun = "";

  before(async () => {
    await session().up();
    const { metadata } = await session().api.create(pod.object("slow", SLOW));
    slowRun = await waitFor("a slow run to begin", async () => {
      const runs = await session().api.list("argoproj.io/v1alpha1", "Workflow", NAMESPACE);
      const run = runs.find(({ spec }) => JSON.stringify(spec).includes(metadata.uid));
      assert.ok(run, "no run names the object");
      const { name } = run.metadata;
      const pods = await session().api.list("v1", "Pod", NAMESPACE);
      const ofRun = pods.find((each) => each.metadata.labels?.["workflows.argoproj.io/workflow"] === name);
      assert.equal((ofRun?.["status"] as { phase?: string } | undefined)?.phase, "Running");
      return name;
    });
    const { project, stack } = session();
    project.edit("handlers/report/main.js", `"first"`, `"second"`);
    const metadataLine = `metadata = {"name": name, "labels": labels`;
    project.edit(
      "handlers/memcached/main.py",
      metadataLine,
      `${metadataLine}, "annotations": {"edition": "second"}`,
    );
    await stack.up();
  });

  it("handles the next event by its new code, resident", async () => {
    await createReady(resident, "after-edit", 1);
    const { metadata } = await session().api.get(resident.child("after-edit"));
    assert.equal(metadata.annotations?.["edition"], "second");
  });

  it("handles the next event by its new code, in a pod", async () => {
    await createReady(pod, "after-edit", 1);
    const { data } = await session().api.get(pod.child("after-edit"));
    assert.equal((data as Record<string, string>)["edition"], "second");
  });

  it("lets a run that is on its way end with the old code", async () => {
    const { phase } = statusOf(await session().api.get(runOf(slowRun)));
    assert.equal(phase, "Running", "the up took longer than the run");
    const { data } = await waitFor("the slow run's child", () => assertChild(pod, "slow", SLOW));
    assert.equal((data as Record<string, string>)["edition"], "first");
    await succeeds(slowRun);
  });
});

describe("a runner that is killed while it leads", () => {
  before(async () => {
    await session().up();
  });

  it("is followed by the one that stands by", async () => {
    const leader = await leaderOf(resident.operator);
    const transport = new HttpTransport(session().connection);
    await transport.send({
      method: "DELETE",
      path: `/api/v1/namespaces/${NAMESPACE}/pods/${leader}`,
      body: { gracePeriodSeconds: 0 },
    });
    transport.close();
    await createReady(resident, "after-fall", 1);
    assert.notEqual(await leaderOf(resident.operator), leader);
  });
});

async function leaderOf(operator: string): Promise<string> {
  const metadata = { name: leaseNameOf(operator), namespace: NAMESPACE };
  const lease = await session().api.get({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata });
  const [pod = ""] = (lease["spec"] as { holderIdentity: string }).holderIdentity.split("_");
  assert.ok(pod);
  return pod;
}
