import assert from "node:assert/strict";
import { CONTAINER_SECURITY } from "../../components/manifests/pods";
import { lookInCluster } from "../../preflight/lookInCluster";
import { assertChild, CRASHES, createReady, FORMS, readyIs } from "./support/forms";
import { session } from "./support/hooks";
import { LONG_MS, waitFor } from "./support/progress";
import { NAMESPACE } from "./support/session";
import { outputOf, submit, succeeds } from "./support/workflows";

const FORM = FORMS.pod;
const SETTINGS = "Pulumi.e2e.yaml";
const [BEFORE, WITH] = ["config:\n", "config:\n  initlessPods: true\n"];

describe("pods of runs without an init container of Argo's", function () {
  this.timeout(LONG_MS);
  let isSet = false;

  before(async function () {
    await session().up();
    if (!(await lookInCluster({}, (look) => look.keepsImageVolumes()))) {
      process.stderr.write("initlessPods skipped: the cluster has no image volumes\n");
      return this.skip();
    }
    session().project.edit(SETTINGS, BEFORE, WITH);
    isSet = true;
    await session().stack.up();
  });
  after(async () => {
    if (!isSet) return;
    session().project.edit(SETTINGS, WITH, BEFORE);
    await session().stack.up();
  });

  it("handle an object, with Argo's container first, and each container as the standard demands", async () => {
    const run = await createReady(FORM, "initless", 3);
    await assertChild(FORM, "initless", 3);
    const { initContainers, containers } = await podOf(run);
    assert.equal(initContainers, undefined);
    assert.deepEqual(
      containers.map(({ name }) => name),
      ["supervisor", "handler-shell", "main", "handler"],
    );
    for (const { name, securityContext } of containers) {
      assert.deepEqual({ ...securityContext, ...CONTAINER_SECURITY }, securityContext, name);
    }
    await succeeds(run);
  });

  it("give the answer of a handler that is only tried as the run's output", async () => {
    const object = JSON.stringify(FORM.object("example", 4));
    const status = await succeeds(await submit(FORM.operator, { object }));
    assert.equal(FORM.countIn(JSON.parse(outputOf(status, "answer") ?? "{}").children[0]), 4);
  });

  it("report a handler that crashes, and end", async () => {
    await session().api.create(FORM.object("initless-crash", CRASHES));
    const { message } = await readyIs(FORM, "initless-crash", { status: "False" });
    assert.match(message, /ended with exit code 3/);
    await session().api.delete(FORM.object("initless-crash", CRASHES));
  });
});

interface PodSpec {
  readonly initContainers?: readonly object[];
  readonly containers: readonly { readonly name: string; readonly securityContext?: object }[];
}

/** The pod of a run. It stays for a minute after the run's end. */
function podOf(run: string): Promise<PodSpec> {
  return waitFor(`the pod of ${run}`, async () => {
    const pods = await session().api.list({ apiVersion: "v1", kind: "Pod" }, NAMESPACE);
    const pod = pods.find(({ metadata }) => metadata.labels?.["workflows.argoproj.io/workflow"] === run);
    assert.ok(pod, "there is none");
    return pod["spec"] as unknown as PodSpec;
  });
}
