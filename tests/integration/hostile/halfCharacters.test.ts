import assert from "node:assert/strict";
import { conditionsIn } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { conditionOf, statusOf, useOperator } from "../support/useOperator";
import { saying, useWatching } from "../support/useWatching";

/** As a handler writes it in JSON: no surrogate has its other half. */
const HALF = "\\ud800";
const NUL = "\\u0000";
/** A line with these children and more, as text: no JSON of ours has half of a character. */
const line = (children: readonly object[], more: string) =>
  `{"id":"$ID","children":${JSON.stringify(children)},${more}}`;

describe("where a handler answers half of a character", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "half-characters" });

  it("in a text, the condition and the Event are written, and show where", async () => {
    const condition = `{"type":"DataReady","status":"True","reason":"Loaded","message":"a${HALF}b"}`;
    const event = `{"type":"Normal","reason":"Loaded","note":"a${HALF}b"}`;
    const raw = line([configMap("child")], `"conditions":[${condition}],"events":[${event}]`);
    const object = await bench.ready(await bench.applyObject("texts", { raw }));
    assert.equal(conditionOf(object, "DataReady").message, "a\ufffdb");
    await eventually(async () =>
      assert.ok((await bench.eventsOf(object)).some(({ note }) => note === "a\ufffdb")),
    );
    await bench.reconcileAgain(object);
    assert.ok(!bench.engine.reportsOf("texts").at(-1)?.statusChanged, "it is written again");
  });

  it("in an error, the condition and the Event are written, and show where", async () => {
    const raw = `{"id":"$ID","error":{"message":"${HALF}","permanent":true}}`;
    const object = await bench.applyObject("error", { raw });
    assert.equal((await bench.failed(object, "HandlerError")).message, "\ufffd");
    await eventually(async () =>
      assert.deepEqual(
        (await bench.eventsOf(object)).map(({ reason, note }) => [reason, note]),
        [["HandlerError", "\ufffd"]],
      ),
    );
  });

  it("in a status, the answer is refused in words, and nothing of that answer is applied", async () => {
    const raw = line([configMap("unwanted")], `"status":{"a":["b${HALF}"]}`);
    const object = await bench.applyObject("status", { raw });
    assert.match((await bench.failed(object, "InvalidAnswer")).message, /"status\.a\[0\]" has half of a/);
    await bench.api.assertGone(inNamespace(configMap("unwanted"), bench.namespace));
  });
});

describe("where a handler answers a NUL", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "nul-characters" });

  it("the API server keeps it as a value, and a refused key is told", async () => {
    const text = "a\u0000b";
    const data = { text };
    const child = { ...configMap("kept", data), metadata: { name: "kept", annotations: { text } } };
    const raw = line([child], `"status":{"text":"a${NUL}b"}`);
    const object = await bench.ready(await bench.applyObject("nul", { raw }));
    assert.equal(statusOf(object)["text"], text);
    const kept = await bench.api.get(inNamespace(configMap("kept"), bench.namespace));
    assert.deepEqual([kept["data"], kept.metadata.annotations], [data, { text }]);
    await bench.reconcileAgain(object);
    assert.deepEqual(bench.engine.reportsOf("nul").at(-1)?.changes, [], "it is not applied again");
    await bench.applyObject("nul", { raw: line([configMap("kept", { [text]: "" })], '"status":{}') });
    const { message } = await bench.failed(object, "ChildRefused");
    assert.match(message, /ConfigMap .*\/kept: .*a valid config key must consist of/);
  });
});

describe("where a handler of objects that others own answers half of a character as its state", function () {
  this.timeout(60_000);
  const bench = useWatching();

  it("the answer is refused in words, and nothing of that answer is applied", async () => {
    const operator = await bench.install();
    operator.plan("half", { raw: line([configMap("of-half")], `"state":{"a":"b${HALF}"}`) });
    const running = await bench.leading(operator);
    const object = await bench.watched(operator, "half");
    const conditions = async () => conditionsIn((await bench.memory(operator, object))["status"]);
    await eventually(async () => {
      const [ready] = await conditions();
      assert.match(String(ready?.message), /"state\.a" has half of a character/);
    });
    await bench.api.assertGone(bench.configMap("of-half"));
    operator.plan("half", saying([configMap("of-half")], { a: "b" }));
    running.controller.hint(object.metadata);
    const kept = await bench.settled(operator, object);
    assert.deepEqual(kept.memory["state"], { a: "b" });
  });
});
