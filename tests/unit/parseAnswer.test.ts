import assert from "node:assert/strict";
import fc from "fast-check";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { HandlerAnswer, HandlerEvent, ReconcileAnswer } from "../../runtime/handler/contract";
import { HandlerPool } from "../../runtime/handler/handlerPool";
import { parseAnswer, readAnswerLine, textOf, unknownId } from "../../runtime/handler/parseAnswer";
import { askHandler } from "../../runtime/reconcile/ask";
import { failureOf } from "./support/failures";
import { question, SHELL, shellHandler } from "./support/handlers";

/** The answer that a line is read as; undefined where it is refused as the contract has it. */
function read(line: string, event: HandlerEvent): HandlerAnswer | undefined {
  try {
    return parseAnswer(readAnswerLine(line).answer, event);
  } catch (error) {
    assert.ok(error instanceof ReconcileFailure, String(error));
    assert.equal(error.reason, "InvalidAnswer");
    assert.ok(error.message.length < 1000, "the message is too long to be read");
    assert.equal(error.permanent, false);
    return undefined;
  }
}

/** What is wrong with an answer. */
function problemOf(answer: unknown, event: HandlerEvent = "reconcile"): string {
  try {
    const line = typeof answer === "string" ? answer : JSON.stringify(answer);
    parseAnswer(readAnswerLine(line).answer, event);
  } catch (error) {
    if (error instanceof ReconcileFailure) return error.message;
    throw error;
  }
  assert.fail(`accepted: ${JSON.stringify(answer)}`);
}

/** A valid answer with one child, changed by a test. */
function withChild(child: object): object {
  return { children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, ...child }] };
}

const CONDITION = { type: "DataReady", status: "True", reason: "Loaded", message: "3 tables" } as const;

const BIG = {
  /** An answer with one child of this metadata: JavaScript itself cannot write integers of 64 bits. */
  child: (metadata: string) =>
    `{"children":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{${metadata}}}]}`,
};

const object = fc.dictionary(fc.string(), fc.jsonValue());
const words = fc.dictionary(fc.string(), fc.string());
const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,30}[a-z0-9])?$/);
const waits = fc.option(fc.integer({ min: 0, max: 604_800 }), { nil: undefined });
const child = fc
  .tuple(
    object,
    fc.record({ apiVersion: fc.constant("v1"), kind: fc.constant("ConfigMap") }),
    fc.record({ name, namespace: name, labels: words, annotations: words }, { requiredKeys: ["name"] }),
  )
  .map(([content, identity, metadata]) => ({ ...content, ...identity, metadata }));
const word = fc.stringMatching(/^[A-Z][A-Za-z0-9]{0,20}$/);
const conditions = fc.uniqueArray(
  fc.record({
    type: word.filter((type) => !["Ready", "Reconciling", "Stalled"].includes(type)),
    status: fc.constantFrom("True", "False", "Unknown"),
    reason: word,
    message: fc.string(),
  }),
  { selector: ({ type }) => type, maxLength: 16 },
);
const reported = fc.array(
  fc.record({ type: fc.constantFrom("Normal", "Warning"), reason: word, note: fc.stringMatching(/\S/) }),
  { maxLength: 8 },
);
const status = object.filter((fields) => fields["conditions"] == null && fields["argosy"] == null);
const answers = {
  reconcile: fc.record(
    { children: fc.array(child), status, conditions, events: reported, requeueAfterSeconds: waits },
    { requiredKeys: ["children"] },
  ),
  finalize: fc.record(
    { finalized: fc.boolean(), status, conditions, events: reported, requeueAfterSeconds: waits },
    { requiredKeys: ["finalized"] },
  ),
  error: fc.record({
    error: fc.record(
      { message: fc.string({ minLength: 1 }), retryAfterSeconds: waits, permanent: fc.boolean() },
      { requiredKeys: ["message"] },
    ),
  }),
};

describe("parseAnswer", () => {
  it("gives the id of a line, whatever it is, and none of it in the answer", () => {
    for (const id of ["a/1", 7, null, undefined]) {
      const line = readAnswerLine(JSON.stringify({ id, children: [] }));
      assert.equal(line.id, id);
      assert.deepStrictEqual(parseAnswer(line.answer, "reconcile"), { children: [] });
    }
  });

  for (const event of ["reconcile", "finalize"] as const) {
    it(`gives every valid answer to "${event}" back as it was`, () => {
      fc.assert(
        fc.property(fc.oneof(answers[event], answers.error), (answer) => {
          const sent = JSON.stringify(answer);
          assert.equal(JSON.stringify(sorted(read(sent, event))), JSON.stringify(sorted(JSON.parse(sent))));
        }),
      );
    });
  }

  it("never lets a name through that could reach another path", () => {
    const part = fc.string({ maxLength: 5 });
    const bad = fc.oneof(
      fc.constantFrom(
        "",
        ".",
        "..",
        "a/b",
        "../pods",
        "%2e%2e",
        "a%2fb",
        "a\nb",
        "\u0000",
        "a\u0085",
        "\ud800",
      ),
      fc.tuple(part, fc.constantFrom("/", "%", "\n", "\u001b"), part).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(bad, fc.constantFrom("name", "namespace"), (value, field) => {
        const metadata = { name: "fine", [field]: value };
        assert.match(
          problemOf(withChild({ metadata })),
          new RegExp(`children\\[0\\]\\.metadata\\.${field} `),
        );
      }),
    );
  });

  it("takes each form of an answer from a program whose one type writes the keys of all forms, with null in those that are unset", () => {
    const nothing = { status: null, conditions: null, events: null, state: null, requeueAfterSeconds: null };
    const unset = { children: null, finalized: null, error: null, ...nothing };
    const error = { message: "no room" };
    const forms: readonly (readonly [HandlerAnswer, HandlerEvent])[] = [
      [{ children: [] }, "reconcile"],
      [{ finalized: true }, "finalize"],
      [{ error }, "reconcile"],
      [{ error }, "finalize"],
    ];
    for (const [form, event] of forms)
      assert.deepStrictEqual(parseAnswer({ ...unset, ...form }, event), form);
    const unsetError = { ...error, retryAfterSeconds: null, permanent: null };
    assert.deepStrictEqual(parseAnswer({ error: unsetError }, "reconcile"), { error });
  });

  it("takes null in the fields that are Argosy's own, as programs write them that have types for the whole status", () => {
    const condition = { ...CONDITION, lastTransitionTime: null, observedGeneration: null };
    const status = { conditions: null, argosy: null };
    assert.deepStrictEqual(parseAnswer({ children: [], status, conditions: [condition] }, "reconcile"), {
      children: [],
      status,
      conditions: [CONDITION],
    });
  });

  it("counts the bytes of a state as they are written, integers of 64 bits too", () => {
    const state = { ids: Array.from({ length: 3_000 }, () => "9007199254740993") };
    const line = JSON.stringify({ children: [], state }).replaceAll('"9007199254740993"', "9007199254740993");
    assert.ok("state" in parseAnswer(readAnswerLine(line).answer, "reconcile"));
  });

  it("quotes no value of a Secret in a line that is no answer, since the scrubber has not learnt it", () => {
    const kind = { apiVersion: "v1", kind: "Secret" };
    const lines = [
      JSON.stringify({ children: [{ apiVersion: "v1", data: { a: "aHVudGVy" }, kind: "Secret" }] }),
      JSON.stringify({ children: [{ stringData: { a: "hunter" }, ...kind }] }),
    ];
    const printed = [
      ...lines.map((line) => `answer: ${line}`),
      ...lines.map((line) => JSON.stringify(line)),
      "{'children': [{'stringData': {'password': 'hunter'}, 'kind': 'Secret'}]}",
      "map[children:[map[apiVersion:v1 data:map[a:aHVudGVy] kind:Secret]]]",
    ];
    const said = [
      ...printed.map((line) => problemOf(line)),
      ...lines.map((line) => unknownId(line, undefined).message),
      ...lines.map((line) => {
        try {
          return textOf(Buffer.concat([Buffer.from(line), Buffer.from([0xff])]));
        } catch (error) {
          return (error as Error).message;
        }
      }),
    ];
    for (const message of said) {
      assert.match(message, /[dD]ata["'\\]*:…"/);
      assert.doesNotMatch(message, /hunter|aHVudGVy/);
    }
  });

  const refused: [string, unknown, RegExp, HandlerEvent?][] = [
    ["a line that is not JSON, and tells where logs belong", "hello", /not JSON: "hello".*standard error/],
    [
      "the first line of an answer in several, and tells that it belongs in one",
      "{",
      /not JSON: "\{"\. Write the answer as one line of JSON/,
    ],
    ["null", null, /a JSON object was expected/],
    ["an unknown key", { children: [], childs: [] }, /unknown key "childs"; the keys here are id, children/],
    [
      "an integer of 64 bits where a label's text must be",
      BIG.child('"name":"a","labels":{"build":20241126101602123}'),
      /labels\["build"\] must be a string; put quotes around it/,
    ],
    [
      "an integer of 64 bits for a name, and quotes it as it is",
      BIG.child('"name":20241126101602123'),
      /metadata\.name must be a Kubernetes name, and is 20241126101602123\./,
    ],
    [
      "an integer of 64 bits for the text of a report",
      '{"children":[],"events":[{"type":"Normal","reason":"BackedUp","note":20241126101602123}]}',
      /events\[0\]\.note must be a non-empty string of at most 32768 characters, and is 20241126101602123\./,
    ],
    [
      "half of a character in a child",
      withChild({ data: { a: "fine", b: "x\ud800y" } }),
      /"children\[0\]\.data\.b" has half of a character/,
    ],
    [
      "half of a character in a key",
      withChild({ data: { "\udc00": "x" } }),
      /"children\[0\]\.data" has half/,
    ],
    [
      "half of a character in a status",
      { finalized: false, status: { list: ["\ud83d\ude00", "\ud83d"] } },
      /"status\.list\[1\]" has half of a character/,
      "finalize",
    ],
    [
      "a finalizer in place of a list",
      withChild({ metadata: { name: "a", finalizers: "example.com/wait" } }),
      /children\[0\]\.metadata\.finalizers must be a list of strings/,
    ],
    [
      "a condition without a type",
      { children: [], conditions: [{ ...CONDITION, type: undefined }] },
      /conditions\[0\]\.type .* is missing/,
    ],
    ["finalized in answer to reconcile", { finalized: true }, /unknown key "finalized"/],
  ];
  for (const [what, answer, problem, event] of refused) {
    it(`refuses ${what}`, () => assert.match(problemOf(answer, event), problem));
  }

  it("quotes no more of a line than can be read", () => {
    assert.ok(problemOf("x".repeat(1_000_000)).length < 300);
  });
});

/** The same value with the keys of every object in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, inner]) => [key, sorted(inner)]);
}

describe("askHandler", () => {
  let pool: HandlerPool;
  afterEach(() => pool.close());

  /** A process that gives these answers one after another, each with the id of its request. */
  function start(...answers: readonly object[]): void {
    const lines = answers.map(
      (answer) =>
        `next; echo log >&2; echo '{"id":"'"$id"'",''${JSON.stringify(answer).slice(1)}'; sleep 0.02`,
    );
    pool = new HandlerPool({
      transport: shellHandler([SHELL, ...lines, "next"].join("\n")),
      timeoutMs: 10_000,
    });
  }

  const ask = () => askHandler<ReconcileAnswer>(pool, question(), () => undefined);

  it("gives the answer without its id, its length, and the log", async () => {
    start({ children: [], status: { a: 1 } });
    const { length, ...reply } = await ask();
    assert.deepStrictEqual(reply, { answer: { children: [], status: { a: 1 } }, log: "log\n" });
    assert.ok(length > 60 && length < 100, `${length}`);
  });

  it("fails by an error in the handler's own words, with the log", async () => {
    start({ error: { message: "no luck", permanent: true, retryAfterSeconds: 3 } });
    const failure = await failureOf(() => ask());
    assert.deepStrictEqual(
      [failure.reason, failure.message, failure.permanent, failure.retryAfterSeconds, failure.log],
      ["HandlerError", "no luck", true, 3, "log\n"],
    );
  });

  it("refuses a broken answer to its own request, with the log, and goes on with the process", async () => {
    start({ childs: [] }, { children: [] });
    const failure = await failureOf(() => ask());
    assert.deepStrictEqual([failure.reason, failure.log], ["InvalidAnswer", "log\n"]);
    assert.deepStrictEqual((await ask()).answer, { children: [] });
    assert.equal(pool.size, 1);
  });
});
