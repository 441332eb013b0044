import assert from "node:assert/strict";
import fc from "fast-check";
import { LineSplitter, LineTooLongError } from "../../runtime/base/text";

/** Cuts bytes at the given places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((start, index) => bytes.subarray(start, ends[index] ?? bytes.length));
}

describe("LineSplitter", () => {
  const bytes = fc
    .array(fc.oneof(fc.constant(0x0a), fc.integer({ min: 0, max: 255 })), { maxLength: 200 })
    .map((values) => Buffer.from(values));

  it("gives the same lines however the bytes are cut", () => {
    fc.assert(
      fc.property(bytes, fc.array(fc.nat({ max: 200 }), { maxLength: 20 }), (all, places) => {
        const splitter = new LineSplitter();
        const lines = cut(all, places).flatMap((chunk) => splitter.push(chunk));
        const last = splitter.push(Buffer.from("\n"));
        assert.deepStrictEqual([...lines, ...last], splitBytes(all));
      }),
    );
  });

  it("holds few pieces of a line that comes byte by byte", () => {
    const splitter = new LineSplitter();
    const { pending } = splitter as unknown as { pending: Buffer[] };
    for (let at = 0; at < 10_000; at++) assert.deepStrictEqual(splitter.push(Buffer.from("a")), []);
    assert.ok(pending.length <= 1_000, `${pending.length} pieces`);
    assert.deepStrictEqual(splitter.push(Buffer.from("\n")), ["a".repeat(10_000)]);
  });

  it("keeps a character whole that is split between two chunks", () => {
    const text = "größer 🚢";
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 20 })), (places) => {
        const splitter = new LineSplitter();
        const chunks = cut(Buffer.from(`${text}\n`), places);
        assert.deepStrictEqual(
          chunks.flatMap((chunk) => splitter.push(chunk)),
          [text],
        );
      }),
    );
  });

  it("accepts a line of the limit, however it is cut, and no longer one", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.array(fc.nat({ max: 50 })), (limit, places) => {
        const fits = new LineSplitter(limit);
        const line = "x".repeat(limit);
        const lines = cut(Buffer.from(`${line}\n`), places).flatMap((chunk) => fits.push(chunk));
        assert.deepStrictEqual(lines, [line]);
        const tooLong = new LineSplitter(limit);
        const push = () => cut(Buffer.from(`${line}x\n`), places).map((chunk) => tooLong.push(chunk));
        assert.throws(push, (error) => error instanceof LineTooLongError && error.limitBytes === limit);
      }),
    );
  });

  it("refuses a line that is too long before it has ended", () => {
    const splitter = new LineSplitter(10);
    splitter.push(Buffer.from("12345"));
    assert.throws(() => splitter.push(Buffer.from("678901")), LineTooLongError);
  });

  it("counts the limit again for each line", () => {
    const splitter = new LineSplitter(3);
    assert.deepStrictEqual(splitter.push(Buffer.from("abc\ndef\n\nghi\n")), ["abc", "def", "", "ghi"]);
  });
});

/** The lines of bytes, by another way than the splitter's. */
function splitBytes(all: Buffer): string[] {
  return all
    .toString("latin1")
    .split("\n")
    .map((line) => Buffer.from(line, "latin1").toString("utf8"));
}
