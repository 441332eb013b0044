import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { type TestOptions, test } from "../../cli/commands/test";
import { isRunning } from "../../cli/common/isRunning";
import { eventually } from "../support/eventually";
import { addFiles, widgetCrd, widgetDefinition, widgetVersion, writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";

const REFUSING = "export const reconcile = () => ({ error: {} });\n";

describe("argosy test", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "widget/crd.yaml": widgetCrd(),
      "widget/operator.yaml": { ...widgetDefinition, handler: "main.js" },
      "widget/fixtures/a.yaml": "object: { metadata: { name: a } }\n",
    });
  });

  const answering = (status: string) =>
    addFiles(root, {
      "widget/main.js": `let size = 0;\nexport const reconcile = () => ({ children: [], status: ${status} });\n`,
    });
  const run = (options: TestOptions = {}) => captured(() => test([], { handlers: root, ...options }));
  const fixture = () => readFileSync(path.join(root, "widget/fixtures/a.yaml"), "utf8");

  it("says of an operator without fixtures where they belong, by its folder", async () => {
    answering("{}");
    rmSync(path.join(root, "widget/fixtures"), { recursive: true });
    renameSync(path.join(root, "widget"), path.join(root, "99-gear"));
    addFiles(root, { "99-gear/operator.yaml": { ...widgetDefinition, name: "gear", handler: "main.js" } });
    const { stderr } = await run();
    assert.match(
      stderr,
      /^gear: it has no fixtures\. Write one into .*99-gear\/fixtures, or let argosy record /,
    );
  });

  it("says what no fixture shows: rules that only an API server checks, and a webhook that converts", async () => {
    answering("{}");
    const spec = { type: "object", "x-kubernetes-validations": [{ rule: "true" }] };
    const conversion = { strategy: "Webhook" };
    const crd = widgetCrd({ conversion, versions: [widgetVersion({}, { spec })] });
    addFiles(root, { "widget/crd.yaml": crd });
    const { stderr } = await run();
    assert.match(
      stderr,
      /^widget: only an API server checks 1 rule in CEL of its CRD, and no fixture fails for them\. argosy test --server asks/m,
    );
    assert.match(stderr, /^widget: its CRD converts versions by a webhook, which Argosy does not provide/m);
  });

  it("writes no answer with --update that changes each time, and fails", async () => {
    answering("{ size: ++size }");
    const before = fixture();
    const { result, stdout } = await run({ update: true });
    assert.equal(result, 1, stdout);
    assert.match(stdout, /✘ widget fixtures\/a\.yaml[\s\S]*asked a second time: .*\.size: expected 1, got 2/);
    assert.match(
      stdout,
      /If that is meant, as for a password that is made once, write repeatable: false into the/,
    );
    assert.match(stdout, /The fixture has no answer and no expect\. Write one of them$/m);
    assert.match(stdout, /^0 passed, 1 failed$/m);
    assert.equal(fixture(), before);
  });

  it("fails for fields of children that the API server would refuse, by fixture, child and field, with --update too", async () => {
    const service = { ports: [{ port: "80a" }] };
    const pod = { containers: [{ name: "c", containerPrt: 8080 }] };
    const children = [
      { apiVersion: "v1", kind: "Service", metadata: { name: "web" }, spec: service },
      { apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec: pod },
    ];
    addFiles(root, {
      "widget/operator.yaml": { ...widgetDefinition, handler: "main.js", children: ["v1/Service", "v1/Pod"] },
      "widget/main.js": `export const reconcile = () => ({ children: ${JSON.stringify(children)} });\n`,
      "widget/fixtures/a.yaml": "object: { metadata: { name: a } }\nexpect: { children: [] }\n",
    });
    const before = fixture();
    const { result, stdout } = await run({ update: true });
    assert.equal(result, 1, stdout);
    assert.match(
      stdout,
      /fixtures\/a\.yaml: Service web: \.spec\.ports\[0\]\.port: expected an integer, got "80a"$/m,
    );
    assert.match(
      stdout,
      /fixtures\/a\.yaml: Pod web: \.spec\.containers\[0\]\.containerPrt: .*no such field/,
    );
    assert.equal(fixture(), before);
  });

  it("writes a report for continuous integration, in which everything that was printed has its place", async () => {
    const log = "a < b && \u001b[1m";
    addFiles(root, {
      "widget/main.js": `export const reconcile = ({ object: { metadata } }) => { console.error(${JSON.stringify(log)}); return { children: [], status: { "<&\\"'>": metadata.name } }; };\n`,
      "widget/fixtures/a.yaml": `object: { metadata: { name: a } }
steps:
  - expect: { status: { "<&\\"'>": a } }
  - expect: { status: { "<&\\"'>": b } }
`,
    });
    const file = path.join(root, "reports/junit.xml");
    const { result } = await run({ junit: file });
    assert.equal(result, 1);
    const [, steps] = readFileSync(file, "utf8").split('<testsuite name="widget" tests="2" failures="1"');
    const [, passed = "", failed = ""] = (steps ?? "").split("<testcase ");
    const place =
      /^classname="widget" name="fixtures\/a\.yaml step \d" file="[^"]*widget\/fixtures\/a\.yaml"/;
    assert.match(passed, new RegExp(`${place.source}/>`));
    assert.match(failed, place);
    assert.match(
      failed,
      /<failure message="status: \[[^"<>]+\]: expected &quot;b&quot;, got &quot;a&quot;">/,
    );
    assert.ok(failed.includes("<system-err>a &lt; b &amp;&amp; \ufffd[1m"), failed);
    await assert.rejects(run({ junit: root }), /--junit .* cannot be written: .*\. Name another file\.$/);
  });

  it("writes no exception of a handler with --update where none is expected, and fails", async () => {
    addFiles(root, { "widget/main.js": "export const reconcile = () => { throw new Error('a typo'); };\n" });
    for (const expectation of ["answer: { children: [] }", "expect: { status: { size: 3 } }", ""]) {
      addFiles(root, { "widget/fixtures/a.yaml": `object: { metadata: { name: a } }\n${expectation}\n` });
      const before = fixture();
      const { result, stdout } = await run({ update: true });
      assert.equal(result, 1, stdout);
      assert.match(stdout, /✘ widget fixtures\/a\.yaml\n[\s\S]*error: expected nothing, got: .*a typo/);
      assert.doesNotMatch(stdout, /--update/);
      assert.equal(fixture(), before);
    }
  });

  it("shows what the handler wrote to standard error if a fixture fails, once", async () => {
    addFiles(root, {
      "widget/main.js":
        "export const reconcile = () => { console.error('asking'); return { children: [], status: { size: 3 } }; };\n",
    });
    const logged = async (steps: string) => {
      addFiles(root, { "widget/fixtures/a.yaml": `object: { metadata: { name: a } }\nsteps: ${steps}\n` });
      return (await run()).stdout.match(/^ {4}asking$/gm)?.length;
    };
    const [right, wrong] = ["{ expect: { status: { size: 3 } } }", "{ expect: { status: { size: 4 } } }"];
    assert.equal(await logged(`[${right}]`), undefined);
    assert.equal(await logged(`[${wrong}, ${wrong}]`), 1);
  });

  it("asks no handler if there is a mistake in any fixture, and says all mistakes", async () => {
    addFiles(root, {
      "widget/main.js": `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(path.join(root, "asked"))}, "");\nexport const reconcile = () => ({ children: [] });\n`,
      "aaa/crd.yaml": {
        ...widgetCrd({ group: "b.example.com" }),
        metadata: { name: "widgets.b.example.com" },
      },
      "aaa/main.js": REFUSING,
      "aaa/operator.yaml": { ...widgetDefinition, handler: "main.js" },
      "aaa/fixtures/a.yaml": "[",
      "bbb/crd.yaml": {
        ...widgetCrd({ group: "c.example.com" }),
        metadata: { name: "widgets.c.example.com" },
      },
      "bbb/main.js": REFUSING,
      "bbb/operator.yaml": { ...widgetDefinition, handler: "main.js" },
      "bbb/fixtures/b.yaml": "# Nothing.",
    });
    await assert.rejects(
      run(),
      /aaa\/fixtures\/a\.yaml[^\n]*not YAML[\s\S]*bbb\/fixtures\/b\.yaml: the file has no/,
    );
    await setTimeout(500);
    assert.ok(!existsSync(path.join(root, "asked")));
  });

  it("ends at once on Ctrl-C while a handler hangs, and takes the handler with it", async () => {
    const pid = path.join(root, "pid");
    addFiles(root, {
      "widget/operator.yaml": { ...widgetDefinition, handler: { image: "a:1", command: ["sh", "main.sh"] } },
      "widget/main.sh": `echo $$ > ${pid}.next; mv ${pid}.next ${pid}; exec sleep 300\n`,
    });
    const running = spawn(process.execPath, ["tools/bootstrap.mjs", "argosy", "test", "--handlers", root], {
      cwd: path.resolve(__dirname, "../.."),
      env: { ...process.env, NODE_OPTIONS: "--conditions=@argosy-dev/source" },
    });
    try {
      await eventually(() => assert.ok(existsSync(pid)));
      running.kill("SIGINT");
      assert.deepEqual(await once(running, "exit", { signal: AbortSignal.timeout(20_000) }), [130, null]);
      await eventually(() => assert.ok(!isRunning(Number(readFileSync(pid, "utf8")))));
    } finally {
      running.kill("SIGKILL");
    }
  });
});
