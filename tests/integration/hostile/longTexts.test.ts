import assert from "node:assert/strict";
import type { Json } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { configMap } from "../support/manifests";
import { useOperator } from "../support/useOperator";

/** Texts by the bytes that a character of theirs has in UTF-8. */
const TEXTS = { one: "x", two: "é", three: "✓", four: "🚢" };

describe("where a handler answers long texts in any language", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "talkative" });

  it("the Events and the condition are written, and show that they were cut", async () => {
    for (const [bytes, character] of Object.entries(TEXTS)) {
      const long = character.repeat(2_000);
      const children = [configMap(bytes) as unknown as Json];
      const events = [{ type: "Normal", reason: "Said", note: long }];
      const object = await bench.applied(bytes, { answer: { children, events } });
      await bench.applyObject(bytes, { answer: { error: { message: long } } });
      const { message } = await bench.failed(object, "HandlerError");
      assert.match(message, new RegExp(`^(${character})+…`, "u"));
      await eventually(async () => {
        const told = await bench.eventsOf(object);
        assert.deepEqual(told.map(({ reason }) => reason).sort(), ["HandlerError", "Reconciled", "Said"]);
        const said = told.find(({ reason }) => reason === "Said")?.note ?? "";
        assert.match(said, new RegExp(`^(${character})+…$`, "u"));
        assert.ok(Buffer.byteLength(said) > 1_000, said);
      });
    }
  });
});
