import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { always, eventually } from "../support/eventually";
import { type OwnCluster, startTestCluster } from "./support/cluster";
import { configMap, inNamespace } from "./support/manifests";
import { ResidentOperator } from "./support/residentOperator";
import type { ResidentPod } from "./support/residentPod";
import { answering, conditionOf } from "./support/useOperator";

/** So long a change may be without an event before it would count as unannounced. */
const ANNOUNCED_WITHIN_MS = 1_000;
const PATIENT = { timeoutMs: 150_000 };

/** In a cluster that has none of Argo's kinds. */
describe("a resident runner without Argo", function () {
  this.timeout(240_000);
  let cluster: OwnCluster;
  let operator: ResidentOperator;
  let pod: ResidentPod;
  let namespace: string;

  before(async function () {
    this.timeout(0);
    cluster = await startTestCluster();
    operator = await ResidentOperator.install(
      cluster,
      { name: "alone" },
      { leaseSeconds: 6, announcedWithinMs: ANNOUNCED_WITHIN_MS, without: ["events", "workflows"] },
    );
    namespace = await cluster.api.newNamespace("alone");
    await cluster.api.apply(operator.kind);
    pod = (await operator.start()).startHandler();
  });
  after(async () => {
    await operator?.dispose();
    await cluster?.close();
  });

  it("reconciles by its own watch, counts no change as unannounced, and asks for no kind of Argo's", async () => {
    const manifest = operator.object("first", answering(configMap("first")), namespace);
    await eventually(() => cluster.api.apply(manifest), PATIENT);
    const isReady = (object: KubernetesObject) => assert.equal(conditionOf(object, "Ready")?.status, "True");
    await eventually(async () => isReady(await cluster.api.get(manifest)), PATIENT);
    assert.ok(await cluster.api.find(inNamespace(configMap("first"), namespace)));
    await cluster.api.apply(operator.object("first", answering(configMap("second")), namespace));
    await eventually(async () =>
      assert.ok(await cluster.api.find(inNamespace(configMap("second"), namespace))),
    );
    await always(async () => assert.equal(await pod.metric("argosy_unannounced_changes_total"), 0), {
      forMs: 3 * ANNOUNCED_WITHIN_MS,
    });
    assert.doesNotMatch(pod.messages.join("\n"), /argoproj|Workflow|recorded|TaskSet/i);
  });

  it("ends when it is told to", async () => {
    assert.equal(await pod.end("SIGTERM"), 0);
  });
});
