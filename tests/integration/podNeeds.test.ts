import assert from "node:assert/strict";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { type LookOptions, lookAtObjects } from "../../runtime/pod/resync/lookAtObjects";
import type { Reference } from "../../tools/objects";
import type { Api } from "./support/api";
import { submit } from "./support/argo";
import { configMap, inNamespace } from "./support/manifests";
import { type ResyncBench, useResyncs } from "./support/resyncs";
import type { ObjectPlan, TestOperator } from "./support/testOperator";
import { answering } from "./support/useOperator";

/** What Argo would write into a Workflow, the test does: the real one is tried by the e2e and the chaos run. */
describe("a resync of the form pod", () => {
  let bench: ResyncBench;
  let operator: TestOperator;
  let api: Api;
  let namespace: string;

  useResyncs("needing", (begun) => {
    bench = begun;
    ({ operator, api, namespace } = bench);
  });

  const object = (name: string, plan?: ObjectPlan) => bench.object(name, plan);

  describe("that looks which objects need a run", () => {
    const later = Date.now() + 24 * 3_600_000;

    /** What each object in the test's namespace needs. */
    const needs = async (more: Partial<LookOptions> = {}): Promise<Record<string, string | undefined>> => {
      const looked = await lookAtObjects({
        operator: bench.withoutTurns,
        client: bench.client,
        namespace,
        program: undefined,
        now: Date.now(),
        onError: (what, error) => assert.fail(`${what}: ${error.message}`),
        ...more,
      });
      return Object.fromEntries(looked.map(({ name, need }) => [name, need]));
    };

    it("gives none to one that is as its last run left it", async () => {
      await api.apply(object("calm", answering(configMap("settings", { a: "1" }))));
      assert.deepStrictEqual(await needs(), { calm: "urgent" });
      await bench.runFor("calm");
      assert.deepStrictEqual(await needs(), { calm: undefined });
      await bench.deleteWorkflows();
      assert.deepStrictEqual(await bench.resync({ operator: bench.withoutTurns }), {
        submitted: 0,
        running: 0,
        left: 0,
        failed: 0,
      });
    });

    it("gives one to those that were changed, touched, have failed, or are being deleted", async () => {
      for (const name of ["changed", "labelled", "deleted"]) {
        await api.apply(object(name));
        await bench.runFor(name);
      }
      await api.apply(object("failed", { exitCode: 3 }));
      await bench.runFor("failed");
      await api.apply(object("changed", answering(configMap("settings"))));
      await api.patch(object("labelled"), { metadata: { labels: { team: "a" } } });
      await api.delete(object("deleted"));
      assert.deepStrictEqual(await needs(), {
        changed: "urgent",
        deleted: "urgent",
        failed: "routine",
        labelled: "routine",
      });
      // Its namespace is none of the next test's, so that it would still count there.
      await api.patch(object("deleted"), { metadata: { finalizers: null } });
    });

    it("gives one to those whose handler wants to be asked again by then", async () => {
      await api.apply(object("due", { answer: { children: [], requeueAfterSeconds: 3_600 } }));
      await bench.runFor("due");
      assert.deepStrictEqual(await needs(), { due: undefined });
      assert.deepStrictEqual(await needs({ now: later }), { due: "routine" });
    });

    it("gives it to them at the time of the API server, if the clock of the run's node is wrong", async () => {
      await api.apply(object("due", { answer: { children: [], requeueAfterSeconds: 120 } }));
      const { now } = Date;
      Date.now = () => now() + 3_600_000;
      try {
        await bench.runFor("due");
      } finally {
        Date.now = now;
      }
      assert.deepStrictEqual(await needs(), { due: undefined });
      assert.deepStrictEqual(await needs({ now: Date.now() + 180_000 }), { due: "routine" });
    });

    it("gives one to those for which a schedule is due, which that run then has done", async () => {
      // Twelve hours from now, so that the hour never changes between the run and the look.
      const hour = (new Date().getUTCHours() + 12) % 24;
      const daily = { cron: `0 ${hour} * * *`, timeZone: "UTC", spreadSeconds: 0 };
      const scheduled = { ...bench.withoutTurns, schedules: { daily } };
      await api.apply(object("daily"));
      await submit(operator, "first", { namespace, name: "daily" });
      await bench.run("first", { operator: scheduled });
      assert.deepStrictEqual(await needs({ operator: scheduled }), { daily: undefined });
      assert.deepStrictEqual(await needs({ operator: scheduled, now: later }), { daily: "routine" });
    });

    it("gives one to those of which somebody changed a child, deleted it, or took its labels", async () => {
      const child = (name: string) =>
        inNamespace(configMap(name, { a: "1" }), namespace) as Reference & Manifest;
      const names = ["calm", "gone", "healed", "patched", "unlabelled"];
      for (const name of names) {
        await api.apply(object(name, answering(configMap(name, { a: "1" }))));
        await bench.runFor(name);
      }
      await api.delete(child("gone"));
      await api.patch(child("patched"), { data: { a: "2" } });
      await api.patch(child("healed"), { data: { a: "2" } });
      await api.patch(child("unlabelled"), { metadata: { labels: null } });
      await api.patch(child("calm"), { data: { b: "of somebody else" } });
      await bench.deleteWorkflows();
      await bench.runFor("healed");
      assert.deepStrictEqual(await needs(), {
        calm: undefined,
        gone: "routine",
        healed: undefined,
        patched: "routine",
        unlabelled: "routine",
      });
      for (const name of ["gone", "patched", "unlabelled"]) await bench.runFor(name);
      const none = Object.fromEntries(names.map((name) => [name, undefined]));
      assert.deepStrictEqual(await needs(), none);
    });

    it("gives one to those from which somebody took a finalizer of the operator", async () => {
      const elsewhere = configMap("elsewhere", {}, { namespace: operator.runnerNamespace });
      const names = ["calm", "elsewhere", "handler"];
      for (const name of names) {
        await api.apply(object(name, name === "elsewhere" ? answering(elsewhere) : undefined));
        await bench.runFor(name);
      }
      await api.patch(object("elsewhere"), { metadata: { finalizers: [operator.finalizer] } });
      await api.patch(object("handler"), { metadata: { finalizers: null } });
      const lost = { calm: undefined, elsewhere: "routine", handler: "routine" };
      const others = { namespaces: [namespace, operator.runnerNamespace] };
      assert.deepStrictEqual(await needs({ operator: { ...bench.withoutTurns, ...others } }), lost);
      await bench.deleteWorkflows();
      for (const name of ["elsewhere", "handler"]) await bench.runFor(name);
      const none = Object.fromEntries(names.map((name) => [name, undefined]));
      assert.deepStrictEqual(await needs({ operator: { ...bench.withoutTurns, ...others } }), none);
    });

    it("gives one to those that another program ran for, or whose kinds are declared no longer", async () => {
      await api.apply(object("demo", answering(configMap("settings"))));
      await bench.runFor("demo");
      const other = { ...bench.withoutTurns, children: [] };
      assert.deepStrictEqual(await needs({ program: "another" }), { demo: "routine" });
      assert.deepStrictEqual(await needs({ operator: other }), { demo: "routine" });
    });
  });
});
