import assert from "node:assert/strict";
import { eventually } from "../support/eventually";
import { useOperator } from "./support/useOperator";

const MINUTELY = { cron: "* * * * *", spreadSeconds: 1 };
const YEARLY = { cron: "0 0 1 1 *", timeZone: "Europe/Berlin", spreadSeconds: 0 };

describe("the engine asks a handler when a schedule is due", function () {
  this.timeout(180_000);
  const bench = useOperator({
    name: "schedules-test",
    schedules: { minutely: MINUTELY, yearly: YEARLY },
    resyncSeconds: 86_400,
  });
  const dueOf = (name: string) =>
    bench.operator.calls(name).flatMap(({ due }) => due.filter((each) => each.name === "minutely"));
  const until = async (check: () => void) => {
    for (const end = Date.now() + 150_000; ; await new Promise((resolve) => setTimeout(resolve, 500))) {
      try {
        return check();
      } catch (error) {
        if (Date.now() > end) throw error;
      }
    }
  };

  // Before the tests, so that both that wait for a minute to end wait for the same one.
  before(async () => {
    const error = { message: "no such plan", permanent: true };
    const namespace = await bench.api.newNamespace("permanent");
    await bench.failed(
      await bench.applyObject("permanent", { answer: { error } }, namespace),
      "HandlerError",
    );
  });

  it("by its own timer, and again with the same instant until it has answered", async () => {
    const object = await bench.applied("due", { answer: { children: [] } });
    bench.operator.plan("due", { answer: { error: { message: "not yet", retryAfterSeconds: 1 } } });
    // A minute may have ended, and been answered, before the handler had its new plan.
    const instants = () => dueOf("due").map(({ at }) => at);
    const repeated = () => instants().find((at, index) => instants().indexOf(at) < index);
    await until(() => assert.ok(repeated()));
    bench.operator.plan("due", { answer: { children: [] } });
    await bench.ready(object);
    for (const at of instants()) {
      assert.match(at, /^\d{4}-.*:00Z$/);
      assert.ok(Date.parse(at) > Date.parse(object.metadata.creationTimestamp ?? ""));
    }
    const of = repeated();
    const times = () => instants().filter((at) => at === of).length;
    const asked = times();
    await bench.reconcileAgain(object);
    assert.equal(times(), asked, "it was due again");
  });

  it("although the last answer was a permanent error", async () => {
    await until(() => assert.ok(dueOf("permanent").length > 0));
  });

  it("once for all that was missed, also by another leader", async () => {
    const object = await bench.applied("missed", { answer: { children: [] } });
    await bench.idle();
    const { argosy } = (await bench.api.get(object))["status"] as {
      argosy: { schedules: Record<string, { at: string; of: string }> };
    };
    const { yearly } = argosy.schedules;
    assert.ok(yearly);
    assert.equal(yearly.of, "0 0 1 1 * Europe/Berlin");
    // As if no operator had run for three years.
    const schedules = { yearly: { ...yearly, at: "2023-06-01T00:00:00Z" } };
    await bench.api.applyStatus(object, {
      argosy: { ...argosy, schedules: { ...argosy.schedules, ...schedules } },
    });
    const standby = await bench.operator.start({ identity: "two" });
    await bench.engine.stop();
    const yearlies = () =>
      bench.operator.calls("missed").flatMap(({ due }) => due.filter((each) => each.name === "yearly"));
    await eventually(() => assert.equal(yearlies().length, 1));
    const lastYear = new Date(Date.now() + 3_600_000).getUTCFullYear() - 1;
    assert.deepEqual(yearlies(), [{ name: "yearly", at: `${lastYear}-12-31T23:00:00Z` }]);
    await eventually(() => assert.ok(standby.reportsOf("missed").length > 0));
    await bench.api.annotate(object, { "argosy.dev/reconcile-at": "now" });
    await eventually(() => assert.ok(standby.reportsOf("missed").length > 1));
    assert.equal(yearlies().length, 1);
    await standby.stop();
  });

  it("and by hand, with the instant that it is given", async () => {
    const object = await bench.applyObject("hand", { answer: { children: [] } });
    const controller = await bench.operator.start({ identity: "three" });
    const due = { name: "yearly", at: "2026-01-05T02:30:07Z" };
    const { namespace, name } = object.metadata;
    await eventually(() => assert.ok(controller.controller.isLeading));
    const report = await controller.controller.reconcileNow({ namespace, name }, due);
    assert.equal(report.result, "succeeded");
    // A minute may have ended before that: then the other schedule is due as well.
    assert.ok(report.due?.includes("yearly"), report.due?.join());
    const given = bench.operator.calls("hand").flatMap((call) => call.due);
    assert.deepEqual(
      given.filter((each) => each.name === "yearly"),
      [due],
    );
  });
});
