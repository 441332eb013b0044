import assert from "node:assert/strict";
import fc from "fast-check";
import { ReconcileFailure } from "../../runtime/base/failure";
import { readJson } from "../../runtime/base/json";
import type { KubernetesObject } from "../../runtime/base/objects";
import { QuestionSecrets } from "../../runtime/reconcile/ask";
import type { Outcome } from "../../runtime/reconcile/report";
import { Scrubber } from "../../runtime/secrets/scrubber";
import { bytesOfText, readingsOf } from "../../runtime/secrets/secretReadings";
import { withinCpuTime } from "../support/cpuTime";
import { FORMS } from "./support/secretForms";

let uids = 0;
function secret(...values: (string | Buffer)[]): KubernetesObject {
  const data = Object.fromEntries(
    values.map((value, index) => [`k${index}`, Buffer.from(value).toString("base64")]),
  );
  const metadata = { name: "s", uid: `uid-${++uids}`, resourceVersion: "1" };
  return { apiVersion: "v1", kind: "Secret", metadata, data };
}
/** A scrubber that was given a Secret with these values. */
function knowing(...values: Parameters<typeof secret>): Scrubber {
  const scrubber = new Scrubber();
  scrubber.learn([secret(...values)]);
  return scrubber;
}
function outcomeOf(log: string, id = "run"): Outcome {
  return {
    report: { id, log, changes: [], name: "a" },
    events: [],
    again: { kind: "done" },
  } as unknown as Outcome;
}
const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("Scrubber", () => {
  it("masks a value of 6 characters and more, as it is and in base64, wherever it stands", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 6 }), fc.string(), fc.string(), (value, before, after) => {
        fc.pre(value.trim().length >= 6);
        const scrubber = knowing(value);
        // A value may overlap with what stands next to it.
        const text = scrubber.text(`${before} ${value} ${after} ${base64(value)}`);
        assert.ok(!text.includes(value) && !text.includes(base64(value)), text);
      }),
    );
  });

  it("leaves shorter values and every other text alone", () => {
    const scrubber = new Scrubber();
    assert.equal(scrubber.text("nothing is known"), "nothing is known");
    scrubber.learn([secret("short", "long-password")]);
    assert.equal(scrubber.text("short long-passwor"), "short ***");
    assert.equal(scrubber.text("short long-passwd, longer"), "short long-passwd, longer");
  });

  it("masks the longest of several values, a value without its line end, and one in JSON", () => {
    const scrubber = knowing("password", "password-of-admin", "with-newline\n", "two\nlines");
    assert.equal(scrubber.text("a password-of-admin, a password"), "a ***, a ***");
    assert.equal(scrubber.text("<with-newline>"), "<***>");
    assert.equal(scrubber.text(JSON.stringify({ key: "two\nlines" })), '{"key":"***"}');
  });

  it("masks a line of a value in JSON too", () => {
    const scrubber = knowing('user=admin\npassword is "correct horse" now\n');
    assert.equal(
      scrubber.text(JSON.stringify({ line: 'password is "correct horse" now' })),
      '{"line":"***"}',
    );
  });

  it("learns a value in no more time than it is long, however many blanks it has", () => {
    const blanks = " \n".repeat(40_000);
    for (const value of [`x${blanks}x`, `${blanks}long-password${blanks}`])
      withinCpuTime(5_000, () => {
        const scrubber = knowing(value);
        if (!value.startsWith("x")) assert.equal(scrubber.text("long-password"), "***");
      });
  });

  it("forgets the Secrets of a run whose outcome cannot be masked", () => {
    const scrubber = new Scrubber(0);
    scrubber.learn([secret("long-password")], "run");
    const report = {
      id: "run",
      get log(): string {
        throw new Error("no log");
      },
    };
    const outcome = { report } as unknown as Outcome;
    assert.throws(() => scrubber.outcome(outcome));
    assert.equal(scrubber.text("long-password"), "long-password");
  });

  it("masks each line of a value that is encoded by itself, and nothing around it", () => {
    const lines = ["first-line-0123456789", "second-line-98765432"] as const;
    const scrubber = knowing(lines.join("\n"), `${lines[0]}\n`);
    for (const [name, form] of Object.entries(FORMS)) {
      const shown = scrubber.text(`<${form(lines[0])}> and <${form(lines[1])}>`);
      const said = [...readingsOf(bytesOfText(shown))].map(({ bytes }) => bytes).join("\n");
      for (const line of lines) assert.ok(!said.includes(line), `${name}: ${shown}`);
    }
    const hex = Buffer.from(lines[0]).toString("hex");
    assert.equal(scrubber.text(`<${hex}> is left`), "<***> is left");
  });

  it("masks what should be a text in a Secret and is a number or a map, which the API server refuses and quotes", () => {
    const scrubber = new Scrubber();
    const metadata = { name: "s", uid: "numbers", resourceVersion: "1" };
    const data = { apiVersion: "v1", kind: "Secret", metadata, data: { code: 73819264 } };
    const stringData = readJson(
      '{"pin":90071992547409931,"short":12345,"config":{"user":{"password":"hunter-22"}}}',
    );
    scrubber.learn([data, { ...data, data: undefined, stringData }] as unknown as KubernetesObject[]);
    const said = "expected string, got &value.valueUnstructured{Value:";
    for (const number of ["73819264", "90071992547409931"])
      assert.equal(scrubber.text(`${said}${number}}`), `${said}***}`);
    assert.equal(scrubber.text("12345"), "12345");
    assert.equal(
      scrubber.text('map[string]interface {}{"password":"hunter-22"}'),
      'map[string]interface {}{"password":"***"}',
    );
  });

  it("masks the base64 of what is no text", () => {
    const scrubber = new Scrubber();
    const bytes = Buffer.from([0xff, 0xfe, 0, 1, 2, 3, 4, 5]);
    scrubber.learn([secret(bytes)]);
    assert.equal(scrubber.text(`= ${bytes.toString("base64")}`), "= ***");
  });

  it("knows the values of the last Secrets, and forgets those before", () => {
    const scrubber = new Scrubber(1_000);
    const [first, second, third] = [
      secret("first-value"),
      secret("second-value"),
      secret("third-value", "first-value"),
    ];
    scrubber.learn([first, second]);
    scrubber.learn([third]);
    assert.equal(scrubber.text("first-value second-value third-value"), "*** *** ***");
    scrubber.learn([secret("fourth-value")]);
    assert.equal(scrubber.text("first-value second-value"), "*** second-value");
  });

  it("knows what a run was given until the run has ended, however many other values it learns by then", () => {
    const scrubber = new Scrubber(1_000);
    const outcome = outcomeOf("first-value");
    scrubber.learn([secret("first-value"), secret("second-value")], "run");
    for (let other = 0; other < 100; other++) scrubber.learn([secret(`other-value-${other}`)]);
    assert.equal(scrubber.text("other-value-1 first-value second-value"), "other-value-1 *** ***");
    assert.equal(scrubber.outcome(outcome).report.log, "***");
    scrubber.learn([secret("later-value"), secret("newest-value")]);
    assert.equal(scrubber.text("first-value"), "first-value");
    // Secrets that are larger than the bound by themselves are known for their own run.
    const large = outcomeOf("x".repeat(2_000), "large");
    scrubber.learn([secret("x".repeat(2_000)), secret("y".repeat(2_000))], "large");
    assert.equal(scrubber.outcome(large).report.log, "***");
  });

  it("bounds what it remembers by its size, whatever the size of one Secret", () => {
    const scrubber = new Scrubber();
    let length = 0;
    for (let version = 0; version < 100; version++) {
      const value = `${version}`.padStart(8, "0") + "x".repeat(200_000);
      scrubber.learn([secret(value)]);
      length += value.length;
    }
    const known = Array.from({ length: 100 }, (_, version) => `${version}`.padStart(8, "0")).filter((start) =>
      scrubber.text(start).includes("***"),
    );
    assert.ok(known.length > 5 && known.length < 40, `${known.length} of ${length} characters`);
    assert.ok(known.includes("00000099"));
  });

  it("is quick with tens of thousands of values that begin alike, in a text that is like them", () => {
    const values = Array.from({ length: 20_000 }, (_, index) => `aaaaaa${index}`);
    const nested = Array.from({ length: 1_000 }, (_, index) => `${"a".repeat(6 + index)}b`);
    const scrubber = new Scrubber();
    // It takes a fifth of a second, and took half a minute when each value was put in its place as it came.
    withinCpuTime(3_000, () => {
      scrubber.learn([secret(...values), secret(...nested)], "run");
      assert.equal(scrubber.text("a".repeat(16_000)), "***");
      assert.equal(scrubber.text("aaaaaa19999 aaaaaa2"), "*** ***");
    });
  });

  it("withholds a text that is nearly a long value at each place, and no other", () => {
    const scrubber = knowing(`${"a".repeat(120_000)}b`);
    const text = `${"a".repeat(60_000)}x and ${"a".repeat(20_000)}`;
    // It took nine seconds, and minutes for a text of half a MB.
    const shown = withinCpuTime(1_000, () => scrubber.inside({ first: text, more: [text, "fine"] }));
    assert.deepEqual(shown, { first: "***", more: ["***", "fine"] });
  });

  it("is quick with a text that may be read in many ways, and does not know what it says beyond a bound", () => {
    const scrubber = knowing("a-long-password");
    const mixed = `'\\''""''&amp;%41\\u0041'"'"'+dXNlcjp1c2Vy%25%2525\\\\`;
    for (const part of [mixed, "\\", "%25", "'", "\\u00", "dXNl", "&#38;"])
      withinCpuTime(1_000, () => scrubber.text(part.repeat(16_000 / part.length)));
    withinCpuTime(2_000, () => scrubber.inside(mixed.repeat(300_000 / mixed.length)));
  });

  it("masks each form in everything that is reported of an outcome: log, failure, problem, verdict and Events", () => {
    const scrubber = new Scrubber();
    const value = `corréct "horse" & it's\u00a0b@ttery`;
    scrubber.learn([secret(value)]);
    const text = Object.values(FORMS)
      .map((form) => form(value))
      .join("\n\n");
    const shown = scrubber.text(text);
    for (const { bytes } of readingsOf(bytesOfText(shown))) assert.doesNotMatch(bytes, /rr..?ct|horse|b@tt/);
    const failure = new ReconcileFailure("HandlerError", text, {
      log: text,
      permanent: true,
      retryAfterSeconds: 3,
    });
    const outcome = {
      report: {
        result: "failed",
        failure,
        log: text,
        problem: text,
        changes: [],
        name: "a",
        timing: { from: 0, to: 1, omitted: 0, steps: [{ name: "child", from: 0, to: 1, error: text }] },
      },
      verdict: { kind: "failed", failure },
      events: [{ type: "Warning", reason: "X", note: text }],
      again: { kind: "done" },
    } as unknown as Outcome;
    const scrubbed = scrubber.outcome(outcome);
    const { report, verdict, events } = scrubbed;
    const told = [
      report.log,
      report.problem,
      report.failure?.message,
      report.failure?.log,
      report.timing?.steps[0]?.error,
      events[0]?.note,
    ];
    assert.deepEqual(new Set(told), new Set([shown]));
    assert.ok(verdict?.kind === "failed" && verdict.failure.message === report.failure?.message);
    assert.ok(verdict.failure instanceof ReconcileFailure && verdict.failure.permanent);
    const progressing = scrubber.said({ kind: "progressing", message: text });
    assert.deepEqual(progressing, { kind: "progressing", message: shown });
  });

  it("leaves the names in verdicts, conditions and Events, which have a form and a meaning", () => {
    const scrubber = new Scrubber();
    for (const name of ["progressing", "Warning", "DataReady", "Polite"]) scrubber.learn([secret(name)]);
    const verdict = { kind: "progressing", message: "progressing" } as const;
    const event = { type: "Warning", reason: "Polite", note: "Polite" } as const;
    const condition = { type: "DataReady", status: "True", reason: "Polite", message: "it is Polite" };
    const outcome = { report: { changes: [], log: "" }, verdict, events: [event], again: { kind: "done" } };
    const scrubbed = scrubber.outcome(outcome as unknown as Outcome);
    assert.deepEqual(scrubbed.verdict, { ...verdict, message: "***" });
    assert.deepEqual(scrubbed.events, [{ ...event, note: "***" }]);
    assert.deepEqual(scrubber.said(condition), { ...condition, message: "it is ***" });
  });

  it("leaves the names and namespaces of the objects of a question, though a Secret among them says its own", () => {
    const scrubber = new Scrubber();
    const metadata = { name: "token-of-shop", namespace: "shop-production" };
    const data = Object.fromEntries(
      [metadata.name, metadata.namespace, "a-long-token"].map((text) => [
        text,
        Buffer.from(text).toString("base64"),
      ]),
    );
    const child = { apiVersion: "v1", kind: "Secret", metadata, data };
    const pool = { hidden: () => [], ask: () => assert.fail("not asked") };
    new QuestionSecrets(scrubber, pool, [child], []);
    const text = "the API server refused ConfigMap shop-production/a: token-of-shop";
    assert.equal(scrubber.text(`${text} a-long-token`), `${text} ***`);
  });
});
