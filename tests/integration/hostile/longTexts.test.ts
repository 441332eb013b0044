import assert from "node:assert/strict";
import type { Json } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { configMap } from "../support/manifests";
import { useOperator } from "../support/useOperator";

/** Texts by the bytes that a character of theirs has in UTF-8. */
const TEXTS = { one: "x", two: "é", three: "✓", four: "🚢" };

describe("where a handler answers long texts in any language", function () {
  this.timeout(30_000);
  const bench = useOperator({ name: "talkative" });

  for (const [bytes, character] of Object.entries(TEXTS)) {
    it(`of ${bytes} bytes for each character, the Events are written, and show that they were cut`, async () => {
      const note = character.repeat(2_000);
      const answer = {
        children: [configMap(bytes) as unknown as Json],
        events: [{ type: "Normal", reason: "Said", note }],
      };
      const object = await bench.applied(bytes, { answer });
      await eventually(async () => {
        const events = await bench.eventsOf(object);
        assert.deepEqual(events.map(({ reason }) => reason).sort(), ["Reconciled", "Said"]);
        const said = events.find(({ reason }) => reason === "Said")?.note ?? "";
        assert.match(said, new RegExp(`^(${character})+…$`, "u"));
        assert.ok(Buffer.byteLength(said) > 1_000, said);
      });
    });

    it(`of ${bytes} bytes for each character, a failure is told by an Event and in the condition`, async () => {
      const message = character.repeat(2_000);
      const object = await bench.applyObject(`failed-${bytes}`, { answer: { error: { message } } });
      const condition = await bench.failed(object, "HandlerError");
      assert.match(condition.message, new RegExp(`^(${character})+…`, "u"));
      await eventually(async () => {
        const events = await bench.eventsOf(object);
        assert.ok(events.some(({ type, reason }) => type === "Warning" && reason === "HandlerError"));
      });
    });
  }
});
