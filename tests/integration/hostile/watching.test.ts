import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { conditionsIn, type JsonObject } from "../../../runtime/base/objects";
import type { Reference } from "../../../tools/objects";
import { always, eventually, whileRepeating } from "../../support/eventually";
import { announceArgo } from "../support/argo";
import { configMap } from "../support/manifests";
import { saying, useWatching } from "../support/useWatching";

const HANDLER_MS = 3_000;

describe("an operator that watches a kind that others own, where", function () {
  this.timeout(120_000);
  announceArgo();
  const bench = useWatching();

  it("an object changes every second although the handler takes three: it is served, and comes to rest", async () => {
    const operator = await bench.install();
    operator.plan("busy", { ...saying([configMap("of-busy")], { seen: 1 }), delayMs: HANDLER_MS });
    const running = await bench.leading(operator);
    const object = await bench.watched(operator, "busy");
    const touch = async (time: number) => {
      await sleep(1_000);
      await bench.api.annotate(object, { "example.com/touched": String(time) });
      // The operator did not ask for this, and no change of the Deployment comes of it.
      await bench.api.applyStatus(object, { observedGeneration: time });
    };
    await whileRepeating(touch, async () => {
      await eventually(
        async () => {
          await bench.api.get(bench.configMap("of-busy"));
          assert.ok(operator.calls("busy").length >= 3);
        },
        { timeoutMs: 150_000 },
      );
      await bench.settled(operator, object);
    });
    await bench.api.annotate(object, { "example.com/touched": "at last" });
    const lastSeen = () =>
      operator.calls("busy").at(-1)?.object.metadata.annotations?.["example.com/touched"];
    await eventually(() => assert.equal(lastSeen(), "at last"));
    await eventually(async () => {
      assert.equal(await running.metric("argosy_queue_depth"), 0, "objects wait");
      assert.equal(await running.metric("argosy_reconciles_active"), 0, "objects are reconciled");
    });
    const asked = operator.calls("busy").length;
    await always(() => assert.equal(operator.calls("busy").length, asked), { forMs: 5_000 });
  });

  it("two operators watch the same objects: each has its own children and memory, even when one lets go", async () => {
    const labels = { "example.com/by": "both" };
    const watch = { apiVersion: "apps/v1", kind: "Deployment", labels };
    const [one, two] = [await bench.install({ watch }), await bench.install({ watch })];
    one.plan("shared", saying([configMap("of-one")], { by: "one" }));
    two.plan("shared", saying([configMap("of-two")], { by: "two" }));
    await Promise.all([bench.leading(one), bench.leading(two)]);
    const object = await bench.watched(one, "shared");
    for (const operator of [one, two]) await bench.settled(operator, object);
    assert.deepEqual((await bench.memory(one, object)).memory["state"], { by: "one" });
    assert.deepEqual((await bench.memory(two, object)).memory["state"], { by: "two" });
    const shown = one
      .calls("shared")
      .flatMap(({ children }) => children.map(({ metadata }) => metadata.name));
    assert.ok(!shown.includes("of-two"));
    // A child of the other one's name is taken, and stays.
    one.plan("shared", saying([configMap("of-two", { taken: "1" })]));
    await bench.api.annotate(object, { "example.com/again": "1" });
    await eventually(async () =>
      assert.equal(conditionsIn((await bench.memory(one, object))["status"])[0]?.reason, "ChildConflict"),
    );
    assert.deepEqual((await bench.api.get(bench.configMap("of-two")))["data"] ?? {}, {});
    one.plan("shared", saying([]));
    await bench.api.annotate(object, { "example.com/again": "2" });
    await eventually(() => bench.api.assertGone(bench.configMap("of-one")));
    await bench.settled(two, object);
    await bench.api.get(bench.configMap("of-two"));
  });

  it("a user deletes or edits what is remembered: only the state is lost, and nothing else is touched", async () => {
    const operator = await bench.install();
    operator.plan("known", saying([configMap("of-known")]));
    const running = await bench.leading(operator);
    const object = await bench.watched(operator, "known");
    const kept = await bench.settled(operator, object);
    const { uid } = (await bench.api.get(bench.configMap("of-known"))).metadata;
    await bench.api.delete(operator.memoryOf(object));
    // It is made again at once, and the child stays.
    await bench.settled(operator, object);
    assert.equal((await bench.api.get(bench.configMap("of-known"))).metadata.uid, uid);

    const other = await bench.api.apply(bench.configMap("of-none"));
    const asked = operator.calls("known").length;
    const forged = {
      object: { ...(kept["object"] as JsonObject), name: 7, namespace: ["x"] },
      memory: {
        kinds: ["v1/Secret", 5, "v1/ConfigMap"],
        created: { a: 1 },
        schedules: [],
        state: "no object",
        reportedEvents: {},
      },
    };
    await bench.api.patch(operator.memoryOf(object) as never, forged as never);
    await bench.api.annotate(object, { "example.com/again": "1" });
    await eventually(() => assert.ok(operator.calls("known").length > asked));
    assert.equal(operator.calls("known").at(-1)?.state, undefined);
    await eventually(async () => {
      const { object: about, memory } = await bench.memory(operator, object);
      assert.deepEqual([about, memory], [kept["object"], kept.memory]);
    });
    assert.equal((await bench.api.get(bench.configMap("of-known"))).metadata.uid, uid);
    assert.equal((await bench.api.get(other)).metadata.uid, other.metadata.uid);

    // A Memory of a missing object makes the operator delete nothing but that Memory.
    const stray = operator.memoryOf({ ...object, metadata: { ...object.metadata, uid: "missing" } });
    const missing = { namespace: bench.namespace, name: "missing" };
    await bench.api.apply({
      ...stray,
      metadata: { ...stray.metadata, labels: (await bench.memory(operator, object)).metadata.labels },
      object: { apiVersion: "apps/v1", kind: "Deployment", ...missing, uid: "missing" },
      memory: { kinds: ["v1/ConfigMap"], elsewhere: true },
    } as never);
    await eventually(async () => {
      // Each time again: the watch may show the Memory only after a run that looked for it.
      running.controller.hint(missing);
      await bench.api.assertGone(stray);
    });
    assert.equal((await bench.api.get(other)).metadata.uid, other.metadata.uid);
    assert.equal((await bench.api.get(bench.configMap("of-known"))).metadata.uid, uid);
  });

  it("another client's ConfigMap bears our labels: it is no child, and is watched like any other", async () => {
    const labels = { "example.com/by": "forged" };
    const operator = await bench.install({
      watch: { apiVersion: "v1", kind: "ConfigMap", labels },
    });
    await bench.leading(operator);
    const owner = await bench.api.apply(bench.here(configMap("owner", {}, { labels })));
    await bench.settled(operator, owner);
    const marks = { ...operator.childLabels, "argosy.dev/owner-uid": owner.metadata.uid };
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid }];
    const child = await bench.api.apply(
      bench.here(configMap("forged", { of: "another" }, { labels: marks, ownerReferences })),
    );
    const both = await bench.api.apply(
      bench.here(configMap("watched", { of: "another" }, { labels: { ...marks, ...labels } })),
    );
    await bench.settled(operator, both);
    await bench.api.annotate(owner, { "example.com/again": "1" });
    await eventually(() => assert.ok(operator.calls("owner").length > 1));
    assert.deepEqual(operator.calls("owner").at(-1)?.children, []);
    await bench.unlabel(operator, owner);
    await eventually(() => bench.api.assertGone(operator.memoryOf(owner)));
    for (const { metadata } of [child, both])
      assert.equal((await bench.api.get(bench.configMap(metadata.name))).metadata.uid, metadata.uid);
  });

  it("another client's Workflow has our label: it is watched like any other, and only in the operator's namespace it is a record", async () => {
    const watch = { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow", labels: { "example.com/by": "x" } };
    const operator = await bench.install({ watch });
    await bench.leading(operator);
    const workflow = (name: string, home: string) => ({
      apiVersion: watch.apiVersion,
      kind: watch.kind,
      metadata: { name, namespace: home, labels: { ...watch.labels, "argosy.dev/operator": "argosy.x" } },
      spec: {},
    });
    await bench.api.apply(workflow("record", operator.runnerNamespace));
    const theirs = await bench.api.apply(workflow("theirs", bench.namespace));
    await bench.settled(operator, theirs);
    assert.deepEqual(operator.calls("record"), []);
  });

  it("a Secret is watched: its values are masked if the handler reports them", async () => {
    const labels = { "example.com/by": "secret" };
    const operator = await bench.install({
      namespaces: [bench.namespace],
      watch: { apiVersion: "v1", kind: "Secret", labels },
    });
    const value = "hunter2-and-more";
    const encoded = Buffer.from(value).toString("base64");
    operator.plan("credentials", {
      log: `log ${value}`,
      answer: { error: { message: `cannot use ${value} or ${encoded}` } },
    });
    const running = await bench.leading(operator);
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "credentials", labels },
      data: { password: encoded },
    };
    const object = await bench.api.apply(bench.here(secret));
    const kept = await eventually(async () => {
      const found = await bench.memory(operator, object);
      assert.equal(conditionsIn(found["status"])[0]?.reason, "HandlerError");
      return found;
    });
    assert.equal(conditionsIn(kept["status"])[0]?.message, "cannot use *** or ***");
    const event = await eventually(async () => {
      const events = await bench.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, bench.namespace);
      const found = events.find(({ note }) => String(note).startsWith("cannot use"));
      assert.ok(found);
      return found;
    });
    assert.ok(operator.calls("credentials").length > 0);
    await eventually(() => assert.ok(running.reportsOf("credentials").length > 0));
    for (const told of [kept, event, running.reportsOf("credentials")])
      assert.doesNotMatch(JSON.stringify(told), new RegExp(`${value}|${encoded}`));
    assert.equal(running.reportsOf("credentials")[0]?.log.trim(), "log ***");
  });

  it("Secrets are watched: a user labels a token, and the handler is never shown it", async () => {
    const labels = { "example.com/by": "enemy" };
    const operator = await bench.install({
      namespaces: [bench.namespace],
      watch: { apiVersion: "v1", kind: "Secret", labels },
    });
    for (const name of ["token", "release", "plain"]) operator.plan(name, saying([configMap(`of-${name}`)]));
    const secret = (name: string, more: object) =>
      bench.here({ apiVersion: "v1", kind: "Secret", metadata: { name, labels }, ...more });
    await bench.api.apply(
      bench.here({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "victim" } }),
    );
    const token = secret("token", { type: "kubernetes.io/service-account-token" });
    token.metadata.annotations = { "kubernetes.io/service-account.name": "victim" };
    const release = secret("release", { type: "helm.sh/release.v1", stringData: { release: "values" } });
    // One exists before the operator, and one comes while the operator is at work.
    await bench.api.apply(token);
    await bench.leading(operator);
    await bench.api.apply(release);
    const filled = await eventually(async () => {
      const found = await bench.api.get(token as Reference);
      assert.ok((found["data"] as JsonObject | undefined)?.["token"], "the token is not written yet");
      return found;
    });
    const plain = await bench.api.apply(secret("plain", { type: "Opaque" }));
    await bench.settled(operator, plain);
    await bench.api.annotate(filled, { "example.com/again": "1" });
    await bench.api.annotate(plain, { "example.com/again": "1" });
    await eventually(() => assert.ok(operator.calls("plain").length > 1));
    assert.deepEqual([...operator.calls("token"), ...operator.calls("release")], []);
    for (const name of ["token", "release"]) await bench.api.assertGone(bench.configMap(`of-${name}`));
  });

  it("two operators watch what the other one makes: they end after some rounds, and say so", async () => {
    const watch = (by: string) => ({ apiVersion: "v1", kind: "ConfigMap", labels: { "example.com/by": by } });
    const one = await bench.install({ watch: watch("one"), handler: makingMore("a", "two") });
    const two = await bench.install({ watch: watch("two"), handler: makingMore("b", "one") });
    await Promise.all([bench.leading(one), bench.leading(two)]);
    await bench.api.apply(bench.here(configMap("x", {}, { labels: { "example.com/by": "one" } })));
    const made = async () => {
      const all = await bench.api.list({ apiVersion: "v1", kind: "ConfigMap" }, bench.namespace);
      return all.filter(({ metadata }) => metadata.name.startsWith("x"));
    };
    const warning = await eventually(async () => {
      const events = await bench.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, bench.namespace);
      const found = events.find(({ reason }) => reason === "WatchCycle");
      assert.ok(found);
      return found;
    });
    assert.match(String(warning["note"]), /back and forth more than 5 times/);
    const { length } = await made();
    assert.ok(length <= 13, `${length} objects`);
    const last = (await made()).find(({ metadata }) => metadata.name.length === length);
    assert.ok(last);
    const who = last.metadata.labels?.["example.com/by"] === "one" ? one : two;
    const kept = await eventually(() => bench.memory(who, last));
    assert.equal(conditionsIn(kept["status"])[0]?.reason, "WatchCycle");
    await always(async () => assert.equal((await made()).length, length), { forMs: 3_000 });
  });
});

/** A handler that makes one more object of each, with a longer name and a label that another operator selects. */
function makingMore(suffix: string, label: string): string {
  const metadata = `{ name: object.metadata.name + "${suffix}", labels: { "example.com/by": "${label}" } }`;
  return `
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, object } = JSON.parse(line);
      const child = { apiVersion: "v1", kind: "ConfigMap", metadata: ${metadata} };
      process.stdout.write(JSON.stringify({ id, children: [child] }) + "\\n");
    });`;
}
