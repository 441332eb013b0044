import assert from "node:assert/strict";
import { plain, print, printAbove, type Style } from "../../cli/common/terminal";
import { Footer } from "../../cli/dev/footer";
import { canShowTable } from "../../cli/dev/liveTable";
import { ObjectRows } from "../../cli/dev/objectRows";
import { formatAge, type ObjectRow, renderTable } from "../../cli/dev/objectTable";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { ObjectState } from "../../runtime/engine/engine";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { eventually } from "../support/eventually";
import { assertEach } from "./support/lists";
import { reconcileReport } from "./support/objects";
import { TerminalScreen } from "./support/terminalScreen";

/** A run that ended before it could judge the children. */
const UNJUDGED = { ready: undefined, children: undefined } as unknown as Partial<ReconcileReport>;
const row = (name: string, changes: Partial<ObjectRow> = {}): ObjectRow => ({
  kind: "Memcached",
  namespace: "default",
  name,
  ready: "True",
  reason: "Reconciled",
  next: "",
  children: { ready: 2, total: 2 },
  lastRun: { agoMs: 3_400, tookMs: 12 },
  ...changes,
});
const broken = row("broken", {
  ready: "False",
  reason: "HandlerCrashed",
  next: "try 4 in 8 s",
  children: { ready: 1, total: 2 },
});

describe("the table of argosy dev", () => {
  it("has a line for each object, those that are not Ready first", () => {
    assert.deepEqual(renderTable([row("alpha"), broken], 100, 10, plain), [
      "OBJECT            READY  REASON          CHILDREN  NEXT          LAST RUN  TOOK",
      "memcached/broken  False  HandlerCrashed  1/2       try 4 in 8 s  3 s ago   12 ms",
      "memcached/alpha   True   Reconciled      2/2                     3 s ago   12 ms",
    ]);
  });

  it("names namespaces if there are several", () => {
    const [heading, first] = renderTable([row("a"), row("a", { namespace: "shop" })], 100, 10, plain);
    assert.match(heading ?? "", /^OBJECT {7}NAMESPACE {2}READY/);
    assert.match(first ?? "", /^memcached\/a {2}default {4}True/);
    assert.doesNotMatch(renderTable([row("a")], 100, 10, plain).join(), /NAMESPACE|default/);
  });

  it("leaves out columns that nothing stands in", () => {
    const fresh = row("a", { ready: "Unknown", reason: "", children: undefined, lastRun: undefined });
    assert.deepEqual(renderTable([fresh], 100, 10, plain), ["OBJECT       READY", "memcached/a  Unknown"]);
  });

  it("counts in one line what has no room, and only that", () => {
    const many = Array.from({ length: 40 }, (_, index) => row(`cache-${String(index).padStart(2, "0")}`));
    const lines = renderTable([...many, broken], 100, 5, plain);
    assert.equal(lines.length, 5);
    assert.match(lines[1] ?? "", /^memcached\/broken/);
    assert.equal(lines[4], "and 38 more, Ready");
    const failing = many.map((each, index) => (index < 10 ? { ...each, ready: "False" as const } : each));
    assert.equal(renderTable(failing, 100, 5, plain)[4], "and 37 more: 30 Ready, 7 not");
    assert.deepEqual(renderTable(many, 100, 2, plain), ["40 objects, Ready"]);
    assert.deepEqual(renderTable([broken], 100, 1, plain), ["1 object, not Ready"]);
    assert.deepEqual(renderTable(many, 100, 0, plain), []);
    assert.deepEqual(renderTable([], 100, 10, plain), []);
    const fitting = renderTable([row("a"), row("b"), row("c")], 100, 4, plain);
    assert.equal(fitting.length, 4);
    assert.doesNotMatch(fitting.join(), /more/);
  });

  it("is never wider or higher than it may be", () => {
    const rows = [
      broken,
      row("a-name-that-is-as-long-as-a-name-of-kubernetes-may-well-be-in-real-life", { namespace: "other" }),
      row("b", { next: "running 119 s", reason: "NamespaceNotGranted", ready: "False" }),
      ...Array.from({ length: 20 }, (_, index) => row(`c${index}`)),
    ];
    for (let width = 1; width <= 140; width++)
      for (const height of [1, 2, 3, 5, 12, 40]) {
        const lines = renderTable(rows, width, height, plain);
        assert.ok(lines.length <= height, `${width}x${height}`);
        for (const line of lines) assert.ok(line.length <= width, `${width}x${height}: ${line}`);
      }
  });

  it("leaves out what matters least where there is little room, and cuts names last", () => {
    const lines = renderTable([broken, row("alpha")], 63, 10, plain);
    assert.equal(lines[0], "OBJECT            READY  REASON          CHILDREN  NEXT");
    assert.deepEqual(renderTable([broken, row("alpha")], 39, 10, plain), [
      "OBJECT            READY  REASON",
      "memcached/broken  False  HandlerCrashed",
      "memcached/alpha   True   Reconciled",
    ]);
    assert.deepEqual(renderTable([broken], 24, 10, plain), ["OBJECT    REASON", "memcach…  HandlerCrashed"]);
  });

  it("has the same shape in colours", () => {
    const marked: Style = (_, text) => `<${text}>`;
    const coloured = renderTable([broken], 100, 10, marked);
    assertEach(coloured, (line) => line.replaceAll(/[<>]/g, ""), renderTable([broken], 100, 10, plain));
    assert.match(coloured[1] ?? "", /^<memcached\/broken> {2}<False>/);
  });

  it("gives an age in its largest unit", () => {
    const ages = [300, 1_000, 59_999, 60_000, 3_599_999, 3_600_000, 100 * 3_600_000].map(formatAge);
    assert.deepEqual(ages, ["now", "1 s ago", "59 s ago", "1 min ago", "59 min ago", "1 h ago", "100 h ago"]);
  });
});

describe("what the table says of an object", () => {
  let now: number;
  let rows: ObjectRows;
  const report = (changes: Partial<ReconcileReport> = {}) =>
    reconcileReport({
      operator: "memcached",
      kind: "Memcached",
      namespace: "default",
      name: "sessions",
      uid: "1",
      ready: true,
      children: { ready: 2, total: 2 },
      durationMs: 12,
      ...changes,
    });
  const state = (changes: Partial<ObjectState> = {}): ObjectState => ({
    namespace: "default",
    name: "sessions",
    uid: "1",
    state: "idle",
    attempt: 1,
    ...changes,
  });
  const rowOf = (object = state()) =>
    rows.rows([{ operator: "memcached", kind: "Memcached", objects: [object] }])[0];
  const failure = new ReconcileFailure("HandlerCrashed", "the password is hunter2");

  beforeEach(() => {
    now = 0;
    rows = new ObjectRows(() => now);
  });

  it("is what the last run showed, and how long ago", () => {
    rows.report(report());
    now = 5_000;
    assert.deepEqual(rowOf(), {
      kind: "Memcached",
      namespace: "default",
      name: "sessions",
      ready: "True",
      reason: "Reconciled",
      next: "",
      children: { ready: 2, total: 2 },
      lastRun: { agoMs: 5_000, tookMs: 12 },
    });
  });

  it("is nothing before the first run, nor of another object of that name", () => {
    assert.equal(rowOf()?.ready, "Unknown");
    rows.report(report());
    assert.equal(rowOf(state({ uid: "2" }))?.ready, "Unknown");
  });

  it("is the reason of a failure and never its message, with the children as they were", () => {
    rows.report(report({ ready: false, children: { ready: 1, total: 2 } }));
    assert.equal(rowOf()?.reason, "ChildrenNotReady");
    rows.report(report({ result: "failed", failure, ...UNJUDGED }));
    const failed = rowOf(state({ state: "delayed", attempt: 4, dueInMs: 8_200 }));
    assert.deepEqual(
      [failed?.ready, failed?.reason, failed?.next, failed?.children],
      ["False", "HandlerCrashed", "try 4 in 8 s", { ready: 1, total: 2 }],
    );
    assert.doesNotMatch(JSON.stringify(failed), /hunter2/);
  });

  it("says what comes next", () => {
    rows.report(report());
    const next = (changes: Partial<ObjectState>) => rowOf(state(changes))?.next;
    assert.equal(next({ state: "working", workingMs: 200 }), "");
    assert.equal(next({ state: "working", workingMs: 7_300 }), "running 7 s");
    assert.equal(next({ state: "working", workingMs: 7_300, attempt: 3 }), "try 3 7 s");
    assert.equal(next({ state: "ready" }), "waits");
    assert.equal(next({ state: "delayed", dueInMs: 30_000 }), "in 30 s");
    assert.equal(next({ state: "delayed", dueInMs: 600_000 }), "in 10 min");
    assert.equal(next({ state: "delayed", dueInMs: 77_225_000 }), "in 21 h");
    rows.report(report({ result: "failed", failure }));
    assert.equal(next({ attempt: 2 }), "on change");
  });

  it("says of a paused object that it is, and nothing new of one that was left out for another reason", () => {
    rows.report(report());
    rows.report(report({ result: "skipped", skipped: "changed during the run" }));
    assert.equal(rowOf()?.reason, "Reconciled");
    rows.report(report({ result: "skipped", skipped: "paused" }));
    assert.deepEqual([rowOf()?.ready, rowOf()?.reason], ["Unknown", "paused"]);
    rows.report(report({ event: "finalize", ...UNJUDGED }));
    assert.equal(rowOf()?.reason, "Finalizing");
  });
});

describe("lines at the bottom of a terminal", () => {
  let screen: TerminalScreen;
  let lines: string[];
  let footer: Footer;

  beforeEach(() => {
    screen = new TerminalScreen(20, 8);
    lines = ["one", "two"];
    footer = new Footer({
      screen,
      frame: (width, height) => lines.slice(0, height).map((line) => line.slice(0, width)),
      pauseMs: 0,
      periodMs: 3_600_000,
    });
  });
  afterEach(() => footer.close());

  it("stand below what is written, which scrolls by", () => {
    for (let count = 1; count <= 9; count++) footer.write(`log ${count}\n`);
    assert.deepEqual(screen.lines, ["log 5", "log 6", "log 7", "log 8", "log 9", "one", "two", ""]);
    assert.deepEqual(screen.scrolled, ["log 1", "log 2", "log 3", "log 4"]);
  });

  it("grow and shrink, and leave no remains", () => {
    footer.write("log\n");
    lines = ["one longer line", "two", "three"];
    footer.changed();
    assert.deepEqual(screen.text, ["log", "one longer line", "two", "three"]);
    lines = ["1"];
    footer.changed();
    assert.deepEqual(screen.text, ["log", "1"]);
    lines = [];
    footer.changed();
    footer.write("more\n");
    assert.deepEqual(screen.text, ["log", "more"]);
  });

  it("are drawn in one write each time, and not at all if they are the same", () => {
    footer.changed();
    const writes = screen.writes.length;
    footer.changed();
    assert.equal(screen.writes.length, writes);
    lines = ["other"];
    footer.changed();
    assert.equal(screen.writes.length, writes + 1);
    const begin = "\u001b[?2026h";
    const end = "\u001b[?2026l";
    assert.ok(screen.writes.every((text) => text.startsWith(begin) && text.endsWith(end)));
  });

  it("let a line pass that is wider than the terminal", () => {
    footer.write(`${"x".repeat(20)}\n${"y".repeat(45)}\n`);
    footer.write("z\n");
    assert.deepEqual(screen.lines, [
      "x".repeat(20),
      "y".repeat(20),
      "y".repeat(20),
      "y".repeat(5),
      "z",
      "one",
      "two",
      "",
    ]);
  });

  it("wait for the end of a line that has only begun", () => {
    footer.write("half a ");
    assert.deepEqual(screen.text, []);
    footer.write("line\nand");
    assert.deepEqual(screen.text, ["half a line", "one", "two"]);
    footer.close();
    assert.deepEqual(screen.text, ["half a line", "and"]);
  });

  it("leave the screen as if they had never been, and print on", () => {
    footer.write("log\n");
    footer.close();
    footer.write("after\n");
    footer.close();
    assert.deepEqual(screen.text, ["log", "after"]);
    assert.deepEqual(screen.cursor, { row: 2, column: 0 });
    assert.equal(screen.listenerCount("resize"), 0);
    assert.ok(!process.listeners("exit").includes(footer.close));
  });

  it("leave nothing although the terminal shows the Ctrl-C that ended them", () => {
    footer.write("log\n");
    screen.write("^C");
    footer.close();
    footer.write("stopping\n");
    assert.deepEqual(screen.text, ["log", "stopping"]);
  });

  it("go when the process ends without a word", () => {
    footer.write("log\n");
    const [close] = process.listeners("exit").filter((listener) => listener === footer.close);
    close?.call(process, 1);
    assert.deepEqual(screen.text, ["log"]);
  });

  it("draw the screen again in another size", () => {
    for (let count = 1; count <= 9; count++) footer.write(`log ${count} ${"x".repeat(9)}\n`);
    screen.resize(10, 6);
    assert.deepEqual(screen.lines, ["log 9 xxxx", "xxxxx", "one", "two", "", ""]);
    screen.resize(40, 10);
    const log = (count: number) => `log ${count} xxxxxxxxx`;
    assert.deepEqual(screen.text, [3, 4, 5, 6, 7, 8, 9].map(log).concat("one", "two"));
    footer.write("last\n");
    assert.deepEqual(screen.text.slice(-3), ["last", "one", "two"]);
  });

  it("leave at least half of the screen to the log", () => {
    lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
    footer.write("log\n");
    assert.deepEqual(screen.text, ["log", "line 0", "line 1", "line 2", "line 3"]);
  });

  it("are drawn again below what a shell wrote while the process was stopped", () => {
    footer.write("log\n");
    screen.write("$ fg\n");
    process.emit("SIGCONT", "SIGCONT");
    lines = ["new"];
    footer.changed();
    assert.deepEqual(screen.text, ["log", "one", "two", "$ fg", "new"]);
  });

  it("are drawn seldom, however often they change", async () => {
    footer.close();
    const slow = new TerminalScreen(20, 8);
    let frames = 0;
    footer = new Footer({ screen: slow, frame: () => [`frame ${++frames}`], pauseMs: 200 });
    for (let count = 0; count < 100; count++) footer.write(`log ${count}\n`);
    assert.equal(slow.writes.length, 1);
    await eventually(() => assert.match(slow.text.join("\n"), /log 99\nframe 2$/));
    assert.equal(slow.writes.length, 2);
  });

  it("take what commands print", () => {
    const restore = printAbove(footer.write);
    print("printed");
    restore();
    assert.deepEqual(screen.text, ["printed", "one", "two"]);
  });
});

describe("whether a table is shown", () => {
  const terminal = { isTTY: true };

  it("only on a terminal that a person looks at", () => {
    assert.equal(canShowTable(terminal, { TERM: "xterm-256color" }), true);
    assert.equal(canShowTable({ isTTY: false }, { TERM: "xterm" }), false);
    for (const [name, value] of Object.entries({ TERM: "dumb", CI: "true", NO_COLOR: "1" }))
      assert.equal(canShowTable(terminal, { [name]: value }), false, name);
  });
});
