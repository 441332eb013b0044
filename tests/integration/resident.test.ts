import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { always, eventually } from "../support/eventually";
import { sharedCluster } from "./support/cluster";
import { configMap, inNamespace } from "./support/manifests";
import { ResidentOperator } from "./support/residentOperator";
import type { ResidentPod } from "./support/residentPod";
import type { ObjectPlan } from "./support/testOperator";
import { answering, becomesReady } from "./support/useOperator";

/** Short, so that a takeover is soon; long enough for a machine that is busy. */
const LEASE_SECONDS = 12;
const PATIENT = { timeoutMs: 150_000 };

/** The tests build on each other: first the pods, then the kind, as `pulumi up` makes them. */
describe("resident runners", function () {
  this.timeout(240_000);
  let operator: ResidentOperator;
  let pods: ResidentPod[];
  let namespace: string;

  before(async function () {
    this.timeout(0);
    const cluster = await sharedCluster();
    operator = await ResidentOperator.install(
      cluster,
      {
        name: "resident-test",
        rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
      },
      { leaseSeconds: LEASE_SECONDS },
    );
    namespace = await cluster.api.newNamespace("resident");
    pods = [await operator.start(), await operator.start()];
  });
  after(() => operator?.dispose());

  it("are alive at once, and ready when the handler's container runs", async () => {
    for (const pod of pods) {
      await eventually(async () => assert.equal(await pod.probe("/livez"), 200), PATIENT);
      assert.equal(await pod.probe("/readyz"), 503);
      pod.startHandler();
      await eventually(async () => assert.equal(await pod.probe("/readyz"), 200), PATIENT);
    }
  });

  it("wait for their kind, say so once, and send hints back", async () => {
    const waiting = ({ messages }: ResidentPod) =>
      messages.filter((message) => message.startsWith("waiting: "));
    for (const pod of pods) {
      await eventually(() => assert.match(waiting(pod).join(), /serves no kind ResidentTest/), PATIENT);
      assert.equal(await pod.hint({ namespace, name: "early" }), 503);
    }
    await always(
      () =>
        assert.deepEqual(
          pods.map((pod) => waiting(pod).length),
          [1, 1],
        ),
      { forMs: 3_000 },
    );
    assert.deepEqual(await Promise.all(pods.map((pod) => pod.probe("/readyz"))), [200, 200]);
  });

  it("have fetched a token for their handler, which only its group may read", async () => {
    for (const pod of pods) {
      const token = pod.handlerTokenFile("token");
      const [, claims = ""] = readFileSync(token, "utf8").split(".");
      const { sub } = JSON.parse(Buffer.from(claims, "base64url").toString()) as { sub: string };
      assert.equal(sub, `system:serviceaccount:${operator.namespace}:resident-test-handler`);
      assert.equal(statSync(token).mode & 0o777, 0o440);
      assert.equal(readFileSync(pod.handlerTokenFile("namespace"), "utf8"), operator.namespace);
      assert.match(readFileSync(pod.handlerTokenFile("ca.crt"), "utf8"), /BEGIN CERTIFICATE/);
    }
  });

  it("begin when their kind has come, and one of them leads", async () => {
    await operator.cluster.api.apply(operator.kind);
    await eventually(async () => {
      for (const { messages } of pods) assert.ok(messages.includes("watching"), messages.join("\n"));
      await leader();
    }, PATIENT);
    await applyReady("first", answering(configMap("first")));
    assert.ok(await operator.cluster.api.find(inNamespace(configMap("first"), namespace)));
    await eventually(async () => {
      const entry = (await leader()).log.find(({ object }) => object === `${namespace}/first`);
      assert.ok(entry, "it is not logged");
      const { time, durationMs, handlerMs, uid, run, ...rest } = entry;
      assert.ok(Date.parse(time) > 0 && (durationMs ?? -1) >= (handlerMs ?? 0));
      assert.match(run ?? "", /^resident-test-first-1-[0-9a-f]{10}$/);
      assert.equal(uid, (await operator.cluster.api.get(object("first", {}))).metadata.uid);
      assert.deepEqual(rest, {
        level: "info",
        message: "created ConfigMap first",
        operator: "resident-test",
        object: `${namespace}/first`,
        generation: 1,
        result: "succeeded",
        changes: ["created ConfigMap first"],
      });
    });
  });

  it("take a hint by the leader, whichever of them it comes to", async () => {
    await applyReady("hinted");
    const [leading, standby] = await roles();
    const reads = () => leading.metric("argosy_api_requests_total", 'method="GET"');
    for (const pod of [leading, standby]) {
      const before = leading.calls("hinted").length;
      const readBefore = await reads();
      assert.equal(await pod.hint({ namespace, name: "hinted" }), 204);
      await eventually(() => assert.ok(leading.calls("hinted").length > before, "not reconciled"));
      // Not as the watch has it, which may be what is broken.
      assert.ok((await reads()) > readBefore, "not read again");
    }
    assert.deepEqual(standby.calls("hinted"), []);
    assert.equal(await leading.metric("argosy_hints_total", 'result="queued"'), 2);
    assert.equal(await standby.metric("argosy_hints_total", 'result="forwarded"'), 1);
  });

  it("wake by the leader what an event from outside names, whichever of them it comes to and however often", async () => {
    await applyReady("woken");
    const [leading, standby] = await roles();
    for (const pod of [leading, standby, standby]) {
      const before = leading.calls("woken").length;
      assert.equal(await pod.wake({ namespace, name: "woken" }), "forwarded");
      await eventually(() => assert.ok(leading.calls("woken").length > before, "not asked"));
      assert.equal(await pod.wake({ namespace, name: "nowhere" }), "absent");
    }
    assert.deepEqual(standby.calls("woken"), []);
    assert.equal(await leading.metric("argosy_hints_total", 'result="absent"'), 3);
  });

  it("look at a version no second time that the watch has told of, however late its hint comes", async () => {
    const [leading] = await roles();
    await applyReady("late");
    const { resourceVersion } = (await ready("late")).metadata;
    const known = () => leading.metric("argosy_hints_total", 'result="known"');
    const before = await known();
    await eventually(async () => {
      assert.equal(await leading.hint({ namespace, name: "late", resourceVersion }), 204);
      assert.ok((await known()) > before, "not known");
    });
  });

  it("ignore a hint for an object that does not exist", async () => {
    const [leading, standby] = await roles();
    const logged = leading.log.length;
    const skipped = () => leading.metric("argosy_reconciles_total", 'result="skipped"');
    const before = await skipped();
    assert.equal(await leading.hint({ namespace, name: "nowhere" }), 204);
    assert.equal(await standby.hint({ namespace: "no-such-namespace", name: "nowhere" }), 204);
    await eventually(async () => assert.equal(await skipped(), before + 2));
    assert.equal(await leading.metric("argosy_reconciles_total", 'result="failed"'), 0);
    assert.deepEqual(leading.log.slice(logged), []);
  });

  it("say for how long changes have come without any hint, until one comes", async () => {
    const [leading, standby] = await roles();
    const silence = (pod: ResidentPod) => pod.metric("argosy_event_silence_seconds");
    for (const name of ["without-hint", "without-hint-either"]) await applyReady(name);
    assert.ok((await silence(leading)) > 0);
    assert.equal(await silence(standby), 0);
    assert.equal(await standby.hint({ namespace, name: "without-hint" }), 204);
    assert.equal(await silence(leading), 0);
  });

  it("go on when their kind has gone and come again", async () => {
    const { api } = operator.cluster;
    await api.delete(operator.kind);
    await eventually(() => api.assertGone(operator.kind), PATIENT);
    const [leading] = await roles();
    await eventually(async () => {
      assert.ok((await leading.metric("argosy_watch_interruptions_total", 'kind="ResidentTest"')) > 0);
    }, PATIENT);
    await api.apply(operator.kind);
    await applyReady("again", answering(configMap("again")));
    // Of an object that went with the kind, nothing is left: one of its name is another one.
    await applyReady("first");
    assert.equal(await leading.metric("argosy_leader"), 1);
  });

  it("hand over at once on SIGTERM, when what runs has ended", async () => {
    const [leading, standby] = await roles();
    const { api } = operator.cluster;
    await api.apply(object("slow", { ...answering(configMap("slow")), delayMs: 2_000 }));
    await eventually(() => assert.equal(leading.calls("slow").length, 1));
    const ended = leading.end("SIGTERM");
    assert.equal(await ended, 0, leading.messages.join("\n"));
    assert.deepEqual(
      leading.log.filter(({ object }) => object === `${namespace}/slow`).map(({ result }) => result),
      ["succeeded"],
    );
    assert.equal(leading.messages.at(-1), "stopped");
    await eventually(async () => assert.equal(await standby.metric("argosy_leader"), 1), PATIENT);
    await eventually(() => assert.equal(leading.container.exitCode, 0, "the handler's container goes on"));
    await ready("slow");
    await applyReady("after-sigterm", answering(configMap("after-sigterm")));
    assert.equal(standby.calls("after-sigterm").length > 0, true);
    pods = [standby, (await operator.start()).startHandler()];
  });

  it("take over when the leader dies, and its pod comes back as a standby", async () => {
    const [leading, standby] = await roles();
    await eventually(() => assert.ok(standby.messages.includes("watching")), PATIENT);
    await leading.end("SIGKILL");
    await eventually(async () => assert.equal(await standby.metric("argosy_leader"), 1), PATIENT);
    await applyReady("after-sigkill", answering(configMap("after-sigkill")));
    assert.ok(standby.calls("after-sigkill").length > 0);
    const watched = () => leading.messages.filter((message) => message === "watching").length;
    const before = watched();
    leading.startRunner();
    await eventually(async () => {
      assert.equal(await leading.probe("/readyz"), 200);
      assert.equal(watched(), before + 1);
    }, PATIENT);
    // It knows who leads, once it has seen the lease renewed.
    await eventually(async () => assert.equal(await leading.hint({ namespace, name: "after-sigkill" }), 204));
    assert.equal(await leading.metric("argosy_leader"), 0);
  });

  it("tell nothing but lines of JSON with a level and a time, and of no fault", () => {
    for (const { log } of pods) {
      for (const { time, level, message } of log) {
        assert.ok(time && message);
        assert.notEqual(level, "error", message);
      }
    }
  });

  async function leader(): Promise<ResidentPod> {
    return (await roles())[0];
  }

  /** The pod that leads, and the other one. */
  async function roles(): Promise<[ResidentPod, ResidentPod]> {
    return eventually(async () => {
      const leads = await Promise.all(pods.map((pod) => pod.metric("argosy_leader")));
      assert.equal(leads.filter((leading) => leading === 1).length, 1, "not one leader");
      const [leading, standby] = [pods[leads.indexOf(1)], pods[leads.indexOf(0)]];
      assert.ok(leading && standby);
      return [leading, standby];
    }, PATIENT);
  }

  function object(name: string, plan: ObjectPlan): Manifest {
    return operator.object(name, plan, namespace);
  }

  /** Creates or changes an object, also where its kind is only just about to be served. */
  async function applyReady(name: string, plan: ObjectPlan = answering()): Promise<void> {
    await eventually(() => operator.cluster.api.apply(object(name, plan)), PATIENT);
    await ready(name);
  }

  function ready(name: string): Promise<KubernetesObject> {
    return becomesReady(operator.cluster.api, object(name, {}), PATIENT);
  }
});
