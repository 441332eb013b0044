import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { HandlerWorker, LogTail } from "../../runtime/handler/handlerWorker";
import { Scrubber } from "../../runtime/secrets/scrubber";
import { failureOf } from "./support/failures";
import { question, shellHandler } from "./support/handlers";

/** How many characters of a value in a row are a leak. */
const LEAK = 20;

/** Of an engine that has given this value to the handler. */
function scrubberOf(value: string): Scrubber {
  const metadata = { name: "s", uid: "uid", resourceVersion: "1" };
  const data = { key: Buffer.from(value).toString("base64") };
  const scrubber = new Scrubber();
  scrubber.learn([{ apiVersion: "v1", kind: "Secret", metadata, data }]);
  return scrubber;
}

/** What is reported of a text. */
const reported = (text: string, value: string) => scrubberOf(value).text(text);

/** Looks for all of a value but for what frames a key, which is the same in each file. */
function assertNothingOf(whole: string, text: string): void {
  const value = whole.replace(/-----[A-Z ]+-----/g, "");
  for (let at = 0; at + LEAK <= value.length; at++)
    assert.ok(!text.includes(value.slice(at, at + LEAK)), `${value.slice(at, at + LEAK)} is in: ${text}`);
}

/** A private key as a file has it. */
const PEM = [
  "-----BEGIN PRIVATE KEY-----",
  ...(randomBytes(1200)
    .toString("base64")
    .match(/.{1,64}/g) ?? []),
  "-----END PRIVATE KEY-----",
  "",
].join("\n");

describe("a value of a Secret that our own cut halves", () => {
  let worker: HandlerWorker | undefined;
  afterEach(() => worker?.end(0));

  async function failing(script: string, value: string) {
    worker = new HandlerWorker(shellHandler(script, { VALUE: value }), { over: () => {} });
    return failureOf(() => (worker as HandlerWorker).ask(question(), 30_000));
  }

  it("is not in the end of a log that it is longer than, or at whose edge it stands", async () => {
    for (const value of [randomBytes(1500).toString("hex"), PEM, randomBytes(6000).toString("hex")]) {
      for (const more of [0, 6000, 8190 - value.length, 8500]) {
        const after = "i=0; while [ $i -lt $MORE ]; do printf '.........\\n' >&2; i=$((i+10)); done";
        const script = `MORE=${more}; read -r line; printf '%s\\n' "$VALUE" >&2; ${after}; exit 1`;
        const { log } = await failing(script, value);
        assertNothingOf(value, reported(log, value));
      }
    }
  });

  it("is not in the words about a line that is no answer", async () => {
    const value = randomBytes(50).toString("hex");
    for (const script of [
      'printf "%s\\n" "$VALUE"',
      'printf "token: %s\\n" "$VALUE"',
      'printf "\\"%s\\"\\n" "$VALUE"',
    ]) {
      const { message } = await failing(`read -r line; ${script}; cat`, value);
      const told = reported(message, value);
      assertNothingOf(value, told);
      assert.match(told, /\*\*\*/);
      assert.match(told, /standard error|expected/);
    }
  });

  it("is not in a line of its own, as of a key that is printed line by line", () => {
    const told = reported(
      PEM.split("\n")
        .map((line) => `key: ${line}`)
        .join("\n"),
      PEM,
    );
    assertNothingOf(PEM, told);
    // What stands in every such file says nothing.
    assert.match(told, /BEGIN PRIVATE KEY/);
  });
});

describe("an author of objects whose words are reported", () => {
  const value = "postgres://app:Xk9vQ2mB@database/production";

  it("does not learn from a mask how a value goes on whose beginning they know", () => {
    const scrubber = scrubberOf(value);
    const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@/:-_"];
    for (const form of [(text: string) => text, (text: string) => Buffer.from(text).toString("base64")])
      for (const end of ["…", "", `", "…`])
        for (let known = 12; known < value.length - 1; known++) {
          const guesses = letters.map((letter) => value.slice(0, known) + letter);
          const isMasked = (guess: string) => scrubber.text(`unknown engine "${guess}${end}`).includes("***");
          const shown = new Set(guesses.map((guess) => isMasked(form(guess))));
          assert.equal(shown.size, 1, `a mask tells how ${value.slice(0, known)} goes on`);
        }
  });
});

describe("LogTail", () => {
  const keptOf = (...chunks: (string | Buffer)[]) => {
    const log = new LogTail(100);
    for (const chunk of chunks) log.keep(Buffer.from(chunk));
    return log.text();
  };

  it("keeps all of a short log, also without a line end", () => {
    assert.equal(keptOf("a", "b\nc"), "ab\nc");
    assert.equal(keptOf("x".repeat(100)), "x".repeat(100));
  });

  it("keeps whole lines of a long one, and says that there was more", () => {
    assert.equal(keptOf("x".repeat(90), "\nfirst\n", "last"), "…\nfirst\nlast");
    assert.equal(keptOf(`${"x".repeat(40)}\n`.repeat(50)), `…\n${"x".repeat(40)}\n${"x".repeat(40)}\n`);
  });

  it("keeps a line that begins at the very edge", () => {
    assert.equal(keptOf(`first\n${"x".repeat(100)}`), `…\n${"x".repeat(100)}`);
  });

  it("keeps nothing of a line that is too long, whose beginning it has lost", () => {
    assert.equal(keptOf("x".repeat(101)), "…\n");
    assert.equal(keptOf("x".repeat(101), "y".repeat(101), "\nend"), "…\nend");
  });

  it("leaves out a character of which only a part has come", () => {
    assert.equal(keptOf(Buffer.from("abcß").subarray(0, 4)), "abc");
  });

  it("begins anew", () => {
    const log = new LogTail(10);
    log.keep(Buffer.from("x".repeat(20)));
    log.clear();
    log.keep(Buffer.from("new"));
    assert.equal(log.text(), "new");
  });
});
