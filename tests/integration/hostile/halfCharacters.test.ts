import assert from "node:assert/strict";
import { eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { conditionOf, statusOf, useOperator } from "../support/useOperator";

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

  it("or a NUL, the API server keeps it as a value, and a refused key is told", async () => {
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
