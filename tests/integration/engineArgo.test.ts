import assert from "node:assert/strict";
import { localHandler } from "../../cli/handler/localHandler";
import { RESIDENT_WORKFLOW_RULES } from "../../components/manifests/operator/rules";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { Engine } from "../../runtime/engine/engine";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import { Replay } from "../../runtime/programs/resident/replay";
import type { NodeResult } from "../../runtime/programs/workflows/taskSet";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { RunRecorder } from "../../runtime/report/runRecorder";
import { WORKFLOWS } from "../../runtime/report/workflows";
import { eventually, inOneOf } from "../support/eventually";
import type { Api } from "./support/api";
import {
  allowRunner,
  announceArgo,
  createTaskSet,
  INSTANCE_ID,
  KEPT,
  submit,
  taskSetOf,
} from "./support/argo";
import { announceKind, sharedCluster } from "./support/cluster";
import { configMap, inNamespace } from "./support/manifests";
import { customResourceDefinitionOf, type ObjectPlan, TestOperator } from "./support/testOperator";
import { answering, conditionOf } from "./support/useOperator";

const OPTIONS = {
  name: "next-to-argo",
  children: [{ apiVersion: "v1", kind: "ConfigMap" }],
  schedules: { yearly: { cron: "0 0 1 1 *" } },
};

/**
 * The engine in a cluster with Argo's kinds and without Argo's controllers: the test writes what the Workflow controller would. The
 * e2e tests how the real one shows a record, and what it makes of an answer.
 */
describe("the engine next to Argo", () => {
  announceArgo();
  announceKind(customResourceDefinitionOf(OPTIONS));

  let operator: TestOperator;
  let api: Api;
  let client: KubernetesClient;
  let controller: Engine;
  let recorder: RunRecorder;
  let replay: Replay;
  let namespace: string;
  let runs = 0;
  const reports: ReconcileReport[] = [];
  const notices: string[] = [];

  before(async function () {
    // The control plane may have to be built.
    this.timeout(0);
    operator = await TestOperator.install(await sharedCluster(), OPTIONS);
    ({ api } = operator.cluster);
    await allowRunner(operator, "workflows", RESIDENT_WORKFLOW_RULES);
    client = new KubernetesClient(operator.connection);
    const place = { client, namespace: operator.runnerNamespace, instanceId: INSTANCE_ID };
    const onNotice = (notice: string) => void notices.push(notice);
    recorder = new RunRecorder({ ...place, kept: KEPT, operator: operator.operator, onNotice });
    controller = new Engine({
      operator: operator.operator,
      connection: operator.connection,
      transport: localHandler(operator.operator, {}),
      namespace: operator.runnerNamespace,
      identity: "one",
      recorder,
      onReport: (report) => void reports.push(report),
    });
    replay = new Replay({ ...place, operator: operator.operator, engine: controller, onNotice });
    await controller.start();
    replay.start();
    await eventually(() => assert.ok(controller.isLeading));
  });

  beforeEach(async () => {
    namespace = await api.newNamespace("next-to-argo");
  });

  after(async () => {
    await replay?.stop();
    await controller?.stop();
    client?.close();
    await operator?.dispose();
  });

  const object = (name: string, plan: ObjectPlan = {}): Manifest => operator.object(name, plan, namespace);
  const settings = configMap("settings", { a: "1" });

  /** Waits until the object is ready, or fails, and gives it. */
  async function settled(manifest: Manifest, status: "True" | "False"): Promise<KubernetesObject> {
    return eventually(async () => {
      const now = await api.get(manifest);
      const ready = conditionOf(now, "Ready");
      assert.equal(ready.observedGeneration, now.metadata.generation);
      assert.equal(ready.status, status, ready.message);
      return now;
    });
  }

  /** The records of an object, as the Workflow API gives them. */
  async function recordsOf(found: KubernetesObject): Promise<KubernetesObject[]> {
    const all = await api.list(WORKFLOWS, operator.runnerNamespace);
    return all.filter(({ metadata }) => metadata.labels?.["argosy.dev/object-uid"] === found.metadata.uid);
  }

  /** Waits until an object has one record, and gives it. */
  async function onlyRecordOf(found: KubernetesObject): Promise<KubernetesObject> {
    return eventually(async () => {
      const records = await recordsOf(found);
      assert.equal(records.length, 1);
      const [record] = records;
      assert.ok(record);
      return record;
    });
  }

  async function submitted(
    parameters: Parameters<typeof submit>[2],
    plugin?: Parameters<typeof createTaskSet>[2],
  ): Promise<string> {
    const name = `submitted-${++runs}`;
    await createTaskSet(operator, await submit(operator, name, parameters), plugin);
    return name;
  }

  /** The answer in the status of a WorkflowTaskSet. */
  async function answerOf(workflow: string): Promise<NodeResult> {
    return eventually(async () => {
      const { status } = await api.get(taskSetOf(operator, workflow) as Parameters<Api["get"]>[0]);
      const { nodes = {} } = (status ?? {}) as { nodes?: Record<string, NodeResult> };
      const answer = nodes[workflow];
      assert.ok(answer, "not answered");
      return answer;
    });
  }

  const output = ({ outputs }: NodeResult, name: string) =>
    outputs.parameters.find((parameter) => parameter.name === name)?.value;

  describe("recording", () => {
    it("records a run that changed something, and the object's Ready condition names it", async () => {
      // A verdict waits a second for its record, which may take longer on a busy machine.
      await inOneOf(10, async (time) => {
        const name = `shown-${time}`;
        const manifest = object(name, answering(configMap(name)));
        await api.apply(manifest);
        const ready = await settled(manifest, "True");
        const record = await onlyRecordOf(ready);
        const { message } = conditionOf(ready, "Ready");
        assert.equal(message, `every child is applied and ready (run ${record.metadata.name})`);
        assert.equal((record["status"] as { message: string }).message, `created ConfigMap ${name}`);
        // The record says what was done: a Normal Event would say the same.
        const events = await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, namespace);
        const about = events.filter(({ regarding }) => (regarding as { name: string }).name === name);
        assert.deepEqual(about, []);
      });
    });

    it("tells its figures as metrics", async () => {
      const text = await controller.metrics.registry.metrics();
      assert.match(text, /argosy_runs_recorded_total\{operator="next-to-argo"\} [1-9]/);
      assert.match(text, /argosy_runs_dropped_total\{operator="next-to-argo"\} 0/);
      assert.match(text, /argosy_recording_lag_seconds\{operator="next-to-argo"\} /);
    });
  });

  describe("replay", () => {
    it("reconciles the object of a submitted Workflow, for real, and answers its task", async () => {
      const manifest = object("again", answering(settings));
      await api.apply(manifest);
      await settled(manifest, "True");
      // No watch reports this: it mends what the index takes for unchanged only when it is asked to.
      operator.plan("again", answering(settings, configMap("more")));
      const answer = await answerOf(await submitted({ namespace, name: "again" }));
      operator.unplan("again");
      assert.equal(answer.phase, "Succeeded");
      assert.equal(answer.message, "created ConfigMap more");
      assert.equal(output(answer, "created"), "created ConfigMap more");
      await api.get(inNamespace(configMap("more"), namespace));
    });

    it("fails the task where the object does not exist, is another one, or its handler fails", async () => {
      assert.match(
        (await answerOf(await submitted({ namespace, name: "missing" }))).message,
        /does not exist/,
      );
      await api.apply(object("there", { answer: { error: { message: "no such plan" } } }));
      const other = await answerOf(await submitted({ namespace, name: "there", uid: "another" }));
      assert.match(other.message, /is not the object with uid another/);
      const failing = await answerOf(await submitted({ namespace, name: "there" }));
      assert.equal(failing.message, "HandlerError: no such plan");
      assert.equal(output(failing, "reason"), "HandlerError");
      for (const { phase } of [other, failing]) assert.equal(phase, "Failed");
    });

    it("tries the handler on an object alone: it answers, and nothing is applied", async () => {
      const example = object("example", answering(configMap("never")));
      const answer = await answerOf(await submitted({ object: JSON.stringify(example) }));
      assert.equal(answer.phase, "Succeeded", answer.message);
      assert.deepStrictEqual(JSON.parse(output(answer, "answer") ?? ""), { children: [configMap("never")] });
      assert.deepStrictEqual(operator.calls("example").at(-1)?.children, []);
      await api.assertGone(inNamespace(configMap("never"), namespace));
      await api.assertGone(example as Parameters<Api["assertGone"]>[0]);
    });

    it("starts a schedule by hand, once, with the time of the submission", async () => {
      const manifest = object("scheduled");
      await api.apply(manifest);
      await settled(manifest, "True");
      const run = await submitted({ namespace, name: "scheduled", schedule: "yearly" });
      const answer = await answerOf(run);
      assert.match(answer.message, /yearly due$/);
      const due = operator.calls("scheduled").flatMap((call) => call.due);
      assert.deepEqual(
        due.map(({ name }) => name),
        ["yearly"],
      );
      assert.ok(Math.abs(Date.parse(due[0]?.at ?? "") - Date.now()) < 60_000);
      const unknown = await answerOf(await submitted({ namespace, name: "scheduled", schedule: "nightly" }));
      assert.match(unknown.message, /parameter "schedule" is "nightly", and this operator has only yearly/);
    });

    it("fails a trial whose answer would be refused, or that is no object of the operator's", async () => {
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "x" } };
      const refused = JSON.stringify(object("refused", answering(secret)));
      assert.match((await answerOf(await submitted({ object: refused }))).message, /InvalidAnswer.*Secret/);
      const alien = JSON.stringify({ ...object("x"), kind: "Pod" });
      assert.match((await answerOf(await submitted({ object: alien }))).message, /must be a NextToArgo/);
    });

    it("leaves the tasks of other operators, and of Workflows that have ended, alone", async () => {
      const foreign = await submitted({ namespace, name: "x" }, { argosy: { operator: "another" } });
      const ended = `submitted-${++runs}`;
      const workflow = await submit(operator, ended, { namespace, name: "x" });
      await api.patch(
        { ...workflow, metadata: { name: ended, namespace: operator.runnerNamespace } },
        { status: { phase: "Failed" } },
      );
      await createTaskSet(operator, workflow);
      // A later one is answered, and these are not.
      await answerOf(await submitted({ namespace, name: "missing" }));
      for (const name of [foreign, ended]) {
        const taskSet = await api.get(taskSetOf(operator, name) as Parameters<Api["get"]>[0]);
        assert.equal(taskSet["status"], undefined);
      }
    });
  });
});
