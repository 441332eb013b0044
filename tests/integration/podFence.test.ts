import assert from "node:assert/strict";
import type { Manifest } from "../../runtime/base/objects";
import type { RunOutcome } from "../../runtime/programs/run/objectRun";
import type { RunOnceOptions } from "../../runtime/programs/run/runOnce";
import type { Reference } from "../../tools/objects";
import { eventually } from "../support/eventually";
import { submit } from "./support/argo";
import { configMap, inNamespace } from "./support/manifests";
import { type PodBench, usePods } from "./support/podRun";
import { answering } from "./support/useOperator";

const OPTIONS = { name: "fenced-run", children: [{ apiVersion: "v1", kind: "ConfigMap" }] };

/**
 * Argo gives the lock of an object to the next Workflow as soon as a Workflow is terminated or deleted, and the pod of
 * the first one may go on.
 */
describe("a run in a pod of its own whose Workflow is ended", () => {
  let bench: PodBench;
  let runs = 0;

  usePods(OPTIONS, (begun) => {
    bench = begun;
  });

  const settings = (of: string) => configMap("settings", { of });
  const child = () => inNamespace(settings(""), bench.namespace) as Reference & Manifest;

  async function submitted(): Promise<string> {
    const name = `fenced-${++runs}`;
    await submit(bench.operator, name, { namespace: bench.namespace, name: "demo" });
    return name;
  }

  /** A run whose handler is being asked. */
  async function begun(
    workflow: string,
    more: Partial<RunOnceOptions> = {},
  ): Promise<() => Promise<RunOutcome>> {
    const asked = bench.operator.calls("demo").length;
    const running = bench.run(workflow, more);
    await eventually(() => assert.ok(bench.operator.calls("demo").length > asked));
    return () => running;
  }

  /** As Argo does. */
  async function terminate(workflow: string): Promise<void> {
    await bench.api.patch(bench.workflow(workflow), {
      metadata: { labels: { "workflows.argoproj.io/completed": "true" } },
      spec: { shutdown: "Terminate" },
      status: { phase: "Failed" },
    });
  }

  /** Another run of the object, which has changed. */
  async function another(): Promise<void> {
    await bench.api.apply(bench.object("demo", answering(settings("newer"))));
    assert.equal((await bench.run(await submitted())).exitCode, 0);
  }

  const ways: readonly (readonly [string, string, (workflow: string) => Promise<unknown>])[] = [
    ["terminated", "has ended", (workflow) => terminate(workflow)],
    ["deleted", "was deleted", (workflow) => bench.api.delete(bench.workflow(workflow))],
  ];

  for (const [how, words, end] of ways) {
    it(`writes nothing of an answer that comes after that, if it is ${how}`, async () => {
      await bench.api.apply(bench.object("demo", { ...answering(settings("older")), delayMs: 6_000 }));
      const workflow = await submitted();
      const outcome = await begun(workflow);
      await end(workflow);
      await another();
      const before = await bench.api.get(bench.object("demo"));
      const { exitCode, message } = await outcome();
      assert.equal(exitCode, 1);
      assert.equal(message, `Workflow ${workflow} ${words}: this run writes nothing more`);
      assert.deepEqual((await bench.api.get(child()))["data"], { of: "newer" });
      assert.equal(
        (await bench.api.get(bench.object("demo"))).metadata.resourceVersion,
        before.metadata.resourceVersion,
      );
    });

    it(`ends its handler at once, if it is ${how}`, async () => {
      await bench.api.apply(bench.object("demo", { hang: true }));
      const workflow = await submitted();
      const outcome = await begun(workflow, { lookMs: 200 });
      await end(workflow);
      assert.match((await outcome()).message, /: this run writes nothing more$/);
    });
  }

  it("writes nothing of a later answer either, however soon that comes", async () => {
    const answer = (of: string) => ({
      answer: { ...answering(settings(of)).answer, requeueAfterSeconds: 4 },
    });
    await bench.api.apply(bench.object("demo", answer("older")));
    const workflow = await submitted();
    const outcome = await begun(workflow, { lookMs: 60_000 });
    await eventually(async () => assert.equal((await bench.readyOf(bench.object("demo"))).status, "True"));
    await terminate(workflow);
    bench.operator.plan("demo", answer("later"));
    const { exitCode, message } = await outcome();
    assert.equal(exitCode, 1, message);
    assert.deepEqual((await bench.api.get(child()))["data"], { of: "older" });
  });

  it("waits for its children no longer", async () => {
    await bench.api.apply(bench.object("demo", { answer: { children: [], requeueAfterSeconds: 60 } }));
    const workflow = await submitted();
    const outcome = await begun(workflow, { lookMs: 200, patienceMs: 100_000 });
    await eventually(async () => assert.equal((await bench.readyOf(bench.object("demo"))).status, "True"));
    await terminate(workflow);
    assert.equal((await outcome()).exitCode, 1);
  });
});
