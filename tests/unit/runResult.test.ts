import assert from "node:assert/strict";
import { triedAnswer } from "../../runtime/programs/workflows/runResult";

/** How many bytes of etcd a text needs in an object of a CRD: Go escapes more than JavaScript does. */
function storedBytes(text: string): number {
  const escapedByGo = text.match(/[<>&\u2028\u2029]/g)?.length ?? 0;
  return Buffer.byteLength(JSON.stringify(text)) + 5 * escapedByGo;
}

describe("the answer of a trial", () => {
  const tried = (word: string, length: number) =>
    triedAnswer({ children: [], status: { text: word.repeat(length / word.length) } });

  it("is whole if it is not too long", () => {
    const { text, message } = tried("a", 200_000);
    assert.equal(message, "tried, nothing applied");
    assert.equal(JSON.parse(text).status.text.length, 200_000);
  });

  for (const word of ["漢", "😀", "<b>", '"', "\\", "\n", "a"])
    it(`has room in etcd if its text is of ${JSON.stringify(word)}`, () => {
      const { text, message } = tried(word, 1_200_000);
      const stored = storedBytes(text);
      assert.ok(stored <= 1_500 * 1024, `${stored} bytes`);
      assert.match(message, /; the answer has \d+ characters, and the first \d+ are shown here$/);
      assert.match(message, new RegExp(`first ${text.length} are`));
      assert.doesNotMatch(text, /\p{Surrogate}/u);
    });
});
