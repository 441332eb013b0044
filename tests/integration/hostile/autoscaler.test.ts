import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually, whileRepeating } from "../../support/eventually";
import { deployment, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

/** A HorizontalPodAutoscaler looks every 15 s: tests/unit/contests.test.ts has that. This is longer than a correction takes. */
const EVERY_MS = 2_000;
const ROUNDS = 8;

describe("where an autoscaler sets what the handler answers too", function () {
  this.timeout(150_000);
  const bench = useOperator({
    name: "autoscaled",
    children: ["apps/v1/Deployment"],
  });

  it("the object says so once, and that it is changed, not deleted", async () => {
    const child = inNamespace(deployment("web"), bench.namespace);
    const object = await bench.applyObject("web", answering(deployment("web", { replicas: 1 })));
    const replicas = async () => ((await bench.api.get(child))["spec"] as { replicas: number }).replicas;
    await eventually(async () => assert.equal(await replicas(), 1));
    for (let round = 0; round < ROUNDS; round++) {
      await bench.api.scale(child, 3);
      await sleep(EVERY_MS);
      await eventually(async () => assert.equal(await replicas(), 1));
    }
    const events = (await bench.eventsOf(object)).filter(({ reason }) => reason === "ChildContested");
    assert.equal(events.length, 1, `${events.length} Events`);
    assert.match(events[0]?.note ?? "", / changes Deployment .*web each time/);
  });
});

describe("if another client scales a child many times in a row", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "scaled", children: ["apps/v1/Deployment"] });

  it("the object says that it is changed, not deleted", async () => {
    const child = inNamespace(deployment("web"), bench.namespace);
    const object = await bench.applyObject("web", answering(deployment("web", { replicas: 1 })));
    const contests = async () =>
      (await bench.eventsOf(object)).filter(({ reason }) => reason === "ChildContested");
    const replicas = async () => ((await bench.api.get(child))["spec"] as { replicas: number }).replicas;
    await eventually(async () => assert.equal(await replicas(), 1));
    const scale = async () => {
      if ((await replicas()) === 1) await bench.api.scale(child, 3);
      await sleep(100);
    };
    const [event] = await whileRepeating(scale, () =>
      eventually(async () => {
        const found = await contests();
        assert.ok(found.length > 0, "no Event");
        return found;
      }),
    );
    assert.match(event?.note ?? "", / changes Deployment .*web each time/);
  });
});
