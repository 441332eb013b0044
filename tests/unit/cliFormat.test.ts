import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { PassThrough } from "node:stream";
import { writtenAs } from "../../cli/common/objectName";
import { formatReference } from "../../cli/common/objectReference";
import { formatDuration, plain, styleFor } from "../../cli/common/terminal";
import { isIgnored } from "../../cli/dev/folderWatch";
import { formatGone, formatReconcile } from "../../cli/local/reconcileLine";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { Operator } from "../../runtime/operator/definition";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { operator, reconcileReport } from "./support/objects";

const at = new Date(2026, 0, 31, 12, 3, 4);

const report = reconcileReport({
  operator: "memcached",
  namespace: "shop",
  name: "sessions",
  uid: "u",
  generation: 3,
  durationMs: 12.4,
});

describe("cli: a reconcile in a line", () => {
  const line = (changed: Partial<ReconcileReport>) => formatReconcile({ ...report, ...changed }, plain, at);

  it("names time, operator, object, generation and duration", () => {
    assert.equal(line({}), "12:03:04  memcached  shop/sessions  gen 3  nothing to change  12 ms");
  });

  it("names what changed, a child elsewhere with its namespace", () => {
    const changes = [
      { verb: "created", apiVersion: "apps/v1", kind: "Deployment", namespace: "shop", name: "sessions" },
      { verb: "deleted", apiVersion: "v1", kind: "Service", namespace: "other", name: "old" },
    ] as const;
    assert.match(
      line({ changes }) ?? "",
      /created Deployment sessions, deleted Service other\/old {2}12 ms$/,
    );
  });

  it("reports a failure with the end of the handler's log below it", () => {
    const failure = new ReconcileFailure("HandlerCrashed", "exit code 1");
    const log = [...Array(30).keys()].map((number) => `line ${number}`).join("\n");
    const lines = (line({ result: "failed", failure, attempt: 2, log }) ?? "").split("\n");
    assert.match(lines[0] ?? "", /HandlerCrashed \(attempt 2\): exit code 1/);
    assert.equal(lines.at(-1), "          line 29");
    assert.equal(lines.includes("          line 1"), false);
  });

  it("is one line whatever the handler says, and harmless for a terminal", () => {
    const failure = new ReconcileFailure("HandlerError", "\u001b[2Jone\ntwo\u0007");
    assert.match(line({ result: "failed", failure }) ?? "", /HandlerError: one two {2}12 ms$/);
    assert.equal(line({ log: "\u001b[31mtext\u0007" })?.split("\n")[1], "          text");
  });

  it("says nothing of what was skipped, but that an object is paused", () => {
    assert.equal(line({ result: "skipped", skipped: "gone" }), undefined);
    assert.match(line({ result: "skipped", skipped: "paused" }) ?? "", /paused/);
  });

  it("says that an object is gone, and of an object of others that it may only be selected no more", () => {
    const gone = (more: Partial<Operator>) =>
      formatGone(operator(more), { namespace: "shop", name: "a" }, plain, at);
    assert.equal(gone({}), "12:03:04  shop  shop/a  deleted");
    assert.match(gone({ watch: { labels: {}, on: [] } }), /shop\/a {2}gone: deleted, or no longer selected$/);
  });

  it("says that it finalizes", () => {
    assert.match(line({ event: "finalize" }) ?? "", /finalize: {2}nothing to change/);
  });
});

describe("cli: text for a terminal", () => {
  it("has durations that people can read", () => {
    assert.deepEqual([0.4, 999, 1_250, 59_900, 125_000, 77_225_000].map(formatDuration), [
      "0 ms",
      "999 ms",
      "1.3 s",
      "59.9 s",
      "2 min 5 s",
      "21 h 27 min",
    ]);
  });

  it("is coloured on a terminal only, and never where colours are unwanted", () => {
    const terminal = (colourDepth: number) =>
      Object.assign(new PassThrough(), { isTTY: true, getColorDepth: () => colourDepth });
    assert.equal(styleFor(terminal(4))("red", "x"), "\u001b[31mx\u001b[39m");
    // As Node says with NO_COLOR.
    assert.equal(styleFor(terminal(1))("red", "x"), "x");
    assert.equal(styleFor(new PassThrough())("red", "x"), "x");
  });
});

describe("cli: the files that dev follows", () => {
  for (const file of ["m/.main.py.swp", "m/main.py~", "m/4913", "m/__pycache__/x.pyc", "m/fixtures/a.yaml"]) {
    it(`are not ${file}`, () => assert.equal(isIgnored(file), true));
  }
  for (const file of ["m/main.py", "m/operator.yaml", "m/crd.yaml", "m/templates/a.json"]) {
    it(`are ${file}`, () => assert.equal(isIgnored(file), false));
  }
});

describe("a name of any kind, such as that of a Role", () => {
  it("is one word of a shell in a command to copy, and nothing on which a terminal would act", () => {
    const name = "a; touch 'b' $(c)\u202e";
    const { stdout } = spawnSync("sh", [
      "-c",
      `printf '%s|' ${writtenAs("Role", { namespace: "shop", name })}`,
    ]);
    assert.equal(stdout.toString(), `role/${name}|--namespace|shop|`);
    assert.equal(writtenAs("Role", { name: "system:a" }), "role/system:a");
    assert.equal(
      formatReference({ kind: "Role", namespace: "shop", name: "a\u001b[2J\u202eb" }),
      "Role shop/ab",
    );
  });
});
