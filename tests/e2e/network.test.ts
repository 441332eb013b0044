import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import { RUNNER_PORTS } from "../../runtime/programs/layout";
import { session } from "./support/hooks";
import { enforcesPolicies, reaches } from "./support/reach";
import { NAMESPACE } from "./support/session";

const LABELS = "app.kubernetes.io/";
const COMPONENT = `${LABELS}component`;

/** A pod of ours, of that component. */
async function podOf(component: string): Promise<KubernetesObject> {
  const pods = await session().api.list({ apiVersion: "v1", kind: "Pod" }, NAMESPACE);
  const pod = pods.find(({ metadata }) => metadata.labels?.[COMPONENT] === component);
  assert.ok(pod, `no pod of the ${component}`);
  return pod;
}

/** The labels by which it is known whose a pod is, without those by which Argo and its Deployment know it. */
function marksOf({ metadata }: KubernetesObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata.labels ?? {}).filter(
      ([key]) => key.startsWith(LABELS) && key !== `${LABELS}instance`,
    ),
  );
}

describe("the network of a resident runner", () => {
  let host = "";
  let sensor: Record<string, string> = {};

  before(async function () {
    await session().up();
    if (!(await enforcesPolicies())) {
      process.stderr.write("      skipped: this cluster's network enforces no NetworkPolicy\n");
      this.skip();
    }
    host = String((((await podOf("runner"))["status"] ?? {}) as { podIP?: string }).podIP);
    sensor = marksOf(await podOf("sensor"));
  });

  it("lets only the Sensor reach the port for hints, whatever another pod's namespace and labels are", async () => {
    const hints = { host, port: RUNNER_PORTS.hints };
    const { team } = session();
    const tried = await Promise.all([
      reaches({ namespace: NAMESPACE, labels: sensor }, hints),
      reaches({ namespace: NAMESPACE }, hints),
      reaches({ namespace: team }, hints),
      reaches({ namespace: team, labels: sensor }, hints),
    ]);
    assert.deepEqual(tried, [true, false, false, false]);
  });

  it("lets any pod reach its metrics", async () => {
    assert.ok(await reaches({ namespace: session().team }, { host, port: RUNNER_PORTS.metrics }));
  });
});
