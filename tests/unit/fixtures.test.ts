import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import { fixtureCrdsOf } from "../../cli/fixtures/definitions";
import { readFixtures } from "../../cli/fixtures/fixture";
import { runFixtures } from "../../cli/fixtures/runFixtures";
import { updateFixtures } from "../../cli/fixtures/update";
import { OperatorError } from "../../definition/problems";
import { kindOfKey } from "../../runtime/base/resource";
import { addFiles, loadDefinition, widgetCrd, widgetDefinition, widgetVersion } from "./operatorFolder";
import { captured } from "./support/captured";
import { FixtureFolder, fixture, handler, namespaced } from "./support/fixtureFolder";
import { assertEach } from "./support/lists";

describe("runFixtures", () => {
  let folder: FixtureFolder;
  beforeEach(() => {
    folder = new FixtureFolder();
  });

  it("gives back a state, and takes one only for objects that others own", async () => {
    addFiles(folder.root, {
      "main.js": handler("{ children: [], state: { seen: (request.state?.seen ?? 0) + 1 } }"),
      "fixtures/a.yaml": `${fixture("answer: { children: [], state: { seen: 1 } }")}---\n${fixture("state: { seen: 1 }\nanswer: { children: [], state: { seen: 2 } }")}`,
    });
    const { crd, ...others } = widgetDefinition;
    const command = { image: "node:22-alpine", command: ["node", "main.js"] };
    const watch = { apiVersion: "apps/v1", kind: "Deployment", labels: { a: "b" } };
    const results = async (subject: object) =>
      runFixtures(loadDefinition(folder.root, { ...others, ...subject, name: "widget", handler: command }));
    assertEach(await results({ watch }), ({ passed, failure }) => [passed, failure], [
      [true, undefined],
      [true, undefined],
    ]);
    assert.match(
      (await results({ crd }))[0]?.failure ?? "",
      /"state", which is for an operator with "watch"/,
    );
  });

  it("tells the handler that the answer is only looked at", async () => {
    const results = await folder.run(
      handler("{ children: [], status: { dryRun: request.dryRun ?? null } }"),
      {
        "a.yaml": fixture("dryRun: true\nexpect: { status: { dryRun: true } }"),
        "b.yaml": fixture(
          "dryRun: true\nsteps: [{ expect: { status: { dryRun: true } } }, { expect: { status: { dryRun: true } } }]",
        ),
        "c.yaml": fixture("answer: { children: [], status: { dryRun: null } }"),
      },
    );
    assert.deepEqual(
      results.map(({ name, differences, failure }) => [name, differences, failure]),
      ["a.yaml", "b.yaml step 1", "b.yaml step 2", "c.yaml"].map((name) => [
        `fixtures/${name}`,
        [],
        undefined,
      ]),
    );
  });

  it("asks what the contract says, in one process, in the order of the files' names", async () => {
    const once = "repeatable: false\nanswer: {}";
    const results = await folder.run(handler("{ children: [], status: { count, request } }"), {
      "b.yaml": fixture("event: finalize\nanswer: {}"),
      "a.yaml": `${fixture(once)}---\n${fixture(`children: [{ kind: Pod }]\n${once}`)}`,
    });
    assertEach(results, ({ name, passed }) => [name, passed], [
      ["fixtures/a.yaml#1", false],
      ["fixtures/a.yaml#2", false],
      ["fixtures/b.yaml", false],
    ]);
    const request = {
      apiVersion: "argosy.dev/v1",
      key: "u/3",
      event: "reconcile",
      object: {
        apiVersion: "shop.example.com/v1",
        kind: "Widget",
        metadata: { namespace: "default", name: "a", uid: "u", generation: 3 },
      },
      children: [{ kind: "Pod" }],
      used: {},
      due: [],
      attempt: 1,
    };
    assert.deepStrictEqual(results[1]?.actual, { children: [], status: { count: 2, request } });
    // "finalize" has an answer of its own: children are none of it.
    assert.match(results[2]?.failure ?? "", /children/);
  });

  it("asks with the schedules that are due, also in single steps, and knows only those of the operator", async () => {
    const schedules = { nightly: { cron: "0 3 * * *" } };
    const due = 'due: [{ name: nightly, at: "2026-01-31T03:00:00Z" }]';
    const answers = handler(
      "{ children: [], status: { due: request.due.map(({ name, at }) => [name, at].join(' ')) } }",
    );
    const results = await folder.run(
      answers,
      {
        "a.yaml": fixture(`${due}\nexpect: { status: { due: [nightly 2026-01-31T03:00:00Z] } }`),
        "b.yaml": fixture(
          `steps: [{ ${due}, expect: { status: { due: [nightly 2026-01-31T03:00:00Z] } } }, { expect: { status: { due: [] } } }]`,
        ),
        "c.yaml": fixture(`${due.replace("nightly", "weekly")}\nexpect: {}`),
      },
      { schedules },
    );
    assertEach(results, ({ passed, failure }) => [passed, failure], [
      [true, undefined],
      [true, undefined],
      [true, undefined],
      [false, "due: operator.yaml has no schedule weekly"],
    ]);
  });

  it("passes an answer that is the expected one, whatever the order of its keys", async () => {
    const [result] = await folder.run(handler("{ status: { a: 1, b: 2 }, children: [] }"), {
      "a.yaml": fixture("answer: { children: [], status: { b: 2, a: 1 } }"),
    });
    assert.equal(result?.passed, true);
  });

  it("reports a crash with its standard error, and goes on in a fresh process", async () => {
    const crashing =
      'request.object.metadata.name === "a" ? (console.error("oh no"), process.exit(3)) : { children: [] }';
    const results = await folder.run(handler(crashing), {
      "a.yaml": fixture("answer: { children: [] }"),
      "b.yaml": "object: { metadata: { name: b } }\nanswer: { children: [] }\n",
    });
    assert.match(results[0]?.failure ?? "", /exit code 3[\s\S]*oh no/);
    assert.equal(results[1]?.passed, true);
  });

  it("says how many steps it did not try, since an answer before them was none", async () => {
    const results = await folder.run(handler("{}"), {
      "a.yaml": fixture("steps: [{ expect: {} }, { expect: {} }, { expect: {} }]"),
      "b.yaml": fixture("steps: [{ expect: {} }]"),
    });
    assertEach(results, ({ name, failure = "" }) => [name, failure.split("\n").slice(1)], [
      ["fixtures/a.yaml step 1", ["steps not tried, since they follow from this answer: 2"]],
      ["fixtures/b.yaml step 1", []],
    ]);
  });

  it("does not wait for ever", async () => {
    const { result, stderr } = await captured(
      () =>
        folder.run("setInterval(() => {}, 1000)", { "a.yaml": fixture("answer: {}") }, { timeoutSeconds: 3 }),
      { keepsWaits: true },
    );
    assert.match(result[0]?.failure ?? "", /no answer within 3 s .* flush standard output/);
    assert.match(stderr, /^widget fixtures\/a\.yaml: waiting for the handler's answer, for at most 3 s$/m);
  });

  it("says of each field that differs what was expected and what was answered", async () => {
    const [result] = await folder.run(
      handler(
        '{ children: [{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: { replicas: 1, template: { spec: { hostAliases: [{ hostnames: ["1", "2"] }] } } } }], requeueAfterSeconds: 5 }',
      ),
      {
        "a.yaml": namespaced(
          'answer:\n  children: [{ apiVersion: apps/v1, kind: Deployment, metadata: { name: a }, spec: { replicas: 2, template: { spec: { hostAliases: [{ hostnames: ["1", "3"] }] } }, extra: a } }, { apiVersion: apps/v1, kind: Deployment, metadata: { name: b } }]\n  status: { x: 1 }',
        ),
      },
    );
    assert.deepStrictEqual(result?.differences, [
      "Deployment a: .spec.replicas: expected 2, got 1",
      'Deployment a: .spec.template.spec.hostAliases[0].hostnames[1]: expected "3", got "2"',
      'Deployment a: .spec.extra: expected "a", got nothing',
      "Deployment b: expected, but not returned",
      'status: expected {"x":1}, got nothing',
      "requeueAfterSeconds: expected nothing, got 5",
    ]);
    assert.equal(result?.passed, false);
  });

  it("says nothing but the error of a handler that was expected to answer something else", async () => {
    const message = "main.py:9 in reconcile: KeyError: 'size' ".padEnd(300, "-");
    const answer = handler(`{ error: { message: ${JSON.stringify(message)} } }`);
    const results = await folder.run(answer, {
      "a.yaml": fixture("answer: { children: [], status: { x: 1 } }"),
      "b.yaml": fixture("expect: { status: { x: 1 } }"),
      "c.yaml": fixture("expect: { error: { message: down } }"),
    });
    const [whole, part, expected] = results.map(({ differences }) => differences);
    assert.deepStrictEqual(whole, [`error: expected nothing, got: ${message}`]);
    assert.deepStrictEqual(part, whole);
    assert.match(expected?.[0] ?? "", /^error: \.message: expected "down", got "main\.py:9/);
  });

  it("fails an answer that the engine would refuse, though it is the expected one: says what is wrong, and what to do", async () => {
    const status = { type: "object", properties: { size: { type: "integer" } } };
    addFiles(folder.root, { "crd.yaml": widgetCrd({ versions: [widgetVersion({}, { status })] }) });
    const [result] = await folder.run(handler('{ children: [], status: { size: "2" } }'), {
      "a.yaml": fixture('answer: { children: [], status: { size: "2" } }'),
    });
    assert.equal(result?.passed, false);
    assert.equal(
      result?.failure,
      "the handler's answer is wrong: status.size must be integer. Correct the handler, or the schema of status in the CRD.",
    );
  });

  it("compares with expect only what it names", async () => {
    const answer =
      '{ children: [{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: { replicas: 1 } }], status: { a: 1, b: [{ c: 1, d: 2 }] } }';
    const results = await folder.run(handler(answer), {
      "a.yaml": namespaced("expect: { status: { b: [{ d: 2 }], none: null } }"),
      "b.yaml": namespaced("expect: { children: [{ kind: Deployment, metadata: { name: a } }] }"),
      "c.yaml": namespaced("expect: { children: [], status: { b: [], a: null } }"),
    });
    assertEach(results, ({ differences }) => differences, [
      [],
      [],
      [
        "Deployment a: returned, but not expected",
        'status: .b: expected [], got [{"c":1,"d":2}]',
        "status: .a: expected null, got 1",
      ],
    ]);
  });

  it("compares keys that every object of JavaScript inherits like any other", async () => {
    const child = (annotations: object) =>
      JSON.stringify({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a", annotations } });
    const results = await folder.run(handler(`{ children: [${child({ constructor: "x" })}] }`), {
      "a.yaml": namespaced(`answer: { children: [${child({ toString: "y" })}] }`),
      "b.yaml": namespaced(`expect: { children: [${child({ toString: null })}] }`),
    });
    assertEach(results, ({ differences }) => differences, [
      [
        'Deployment a: .metadata.annotations.toString: expected "y", got nothing',
        'Deployment a: .metadata.annotations.constructor: expected nothing, got "x"',
      ],
      [],
    ]);
  });

  const config = (name: string, data = "") =>
    `{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: ${name} }, data: { v: "1"${data} } }`;
  const CONFIGS = { children: [{ apiVersion: "v1", kind: "ConfigMap" }] };
  const status = "request.object.status ?? {}";
  const owner = "request.object.metadata.name";

  for (const [what, answer, fields, differences] of [
    [
      "another answer in another second",
      "{ children: [], status: { at: Math.floor(Date.now() / 1000) } }",
      "repeatable: later",
      [/^asked a second time: status: \.at: expected \d+, got \d+$/],
    ],
    [
      "another answer in another process",
      "{ children: [], status: { pid: process.pid } }",
      "repeatable: later",
      [/^asked a second time: status: \.pid: expected \d+, got \d+$/],
    ],
    [
      "an answer that never comes to rest",
      `{ children: [], status: { count: ((${status}).count ?? 0) + 1 } }`,
      "repeatable: applied",
      [/^asked a second time: status: \.count: expected 1, got 2$/],
    ],
    [
      "nothing of an answer that is at rest",
      `{ children: [${config(owner)}], status: { seen: request.children.length > 0 }, events: [], requeueAfterSeconds: count }`,
      `children: [{ apiVersion: v1, kind: ConfigMap, metadata: { name: a } }]\nrepeatable: applied`,
      [],
    ],
    [
      "a child that another object has too",
      `{ children: [${config('"settings"')}, ${config(owner)}] }`,
      "apartFrom: { metadata: { name: b } }",
      [/^ConfigMap default\/settings: is a child of both objects$/],
    ],
    [
      "nothing of children whose names follow from the object's",
      `{ children: [${config(owner)}] }`,
      "apartFrom: { metadata: { name: b } }",
      [],
    ],
  ] as const)
    it(`says ${what}, if a fixture asks for it`, async () => {
      const files = { "a.yaml": fixture(`${fields}\nexpect: {}`) };
      const [result] = await folder.run(handler(answer), files, CONFIGS);
      assert.equal(result?.failure, undefined);
      assert.equal(result?.differences.length, differences.length, result?.differences.join("\n"));
      for (const [index, line] of differences.entries()) assert.match(result?.differences[index] ?? "", line);
    });

  it("shows a child in a step that still exists although the handler no longer returned it", async () => {
    const steps = `steps:
  - expect: { status: { seen: [] } }
  - observed: { ConfigMap/old: { apiVersion: v1, kind: ConfigMap, metadata: { name: old } } }
    expect: { status: { seen: [old] } }
  - expect: { status: { seen: [] } }
`;
    const code = handler(
      "{ children: [], status: { seen: request.children.map((each) => each.metadata.name) } }",
    );
    const results = await folder.run(code, { "a.yaml": fixture(steps) }, CONFIGS);
    assertEach(results, ({ differences, failure }) => failure ?? differences, [[], [], []]);
  });

  describe("if operator.yaml promises a pure handler", () => {
    const PURE = { ask: "changed" as const };
    const broken: Record<string, string> = {
      "the clock, in whole seconds": "Math.floor(Date.now() / 1000)",
      "the attempt": "request.attempt",
      "the trace": "request.trace ?? null",
      "the version of its object": "request.object.metadata.resourceVersion ?? null",
      "the version of a child": "request.children[0].metadata.resourceVersion ?? null",
      "what Argosy says of its object":
        "(request.object.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True')",
      "which generation Argosy has seen": "request.object.status?.observedGeneration ?? null",
    };
    const children = "children: [{ apiVersion: apps/v1, kind: Deployment, metadata: { name: a } }]";
    for (const [what, value] of Object.entries(broken))
      it(`fails a handler that reads ${what}, and says what it has promised`, async () => {
        const code = handler(`{ children: [], status: { value: ${value} } }`);
        const [result] = await folder.run(code, { "a.yaml": fixture(`${children}\nexpect: {}`) }, PURE);
        const [difference = "", promise = ""] = result?.differences ?? [];
        assert.match(difference, /^asked a second time: status: \.value: expected /);
        assert.match(
          promise,
          /^operator\.yaml promises by ask: changed that the answer follows from the request/,
        );
        const [unpromised] = await folder.run(code, {});
        assert.deepEqual(unpromised?.differences, []);
      });

    it("passes one whose answer follows from the rest of the request", async () => {
      const value = "[request.object.spec, request.children[0].metadata.name, request.event]";
      const [result] = await folder.run(
        handler(`{ children: [], status: { value: JSON.stringify(${value}) } }`),
        { "a.yaml": fixture(`${children}\nexpect: {}`) },
        PURE,
      );
      assert.deepEqual(result?.differences, []);
    });

    it("fails a fixture that says that the answer may differ", async () => {
      const files = { "a.yaml": fixture("repeatable: false\nexpect: {}") };
      const [result] = await folder.run(handler("{ children: [] }"), files, PURE);
      assert.match(
        result?.failure ?? "",
        /^repeatable is false, but operator\.yaml promises by ask: changed/,
      );
    });
  });

  it("reads, compares, shows and writes integers of 64 bits as they are", async () => {
    const code = `
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const [[, id], [, size]] = [/"id":("[^"]*")/.exec(line), /"size":([0-9]+)/.exec(line)];
        console.log(\`{"id":\${id},"children":[],"status":{"size":\${size}}}\`);
      });`;
    const run = (expected: string) =>
      folder.run(code, {
        "a.yaml": `object: { metadata: { name: a }, spec: { size: 9007199254740993 } }\nanswer: { children: [], status: { size: ${expected} } }\n`,
      });
    const results = await run("9007199254740992");
    assertEach(results, ({ differences, failure }) => failure ?? differences, [
      ["status: .size: expected 9007199254740992, got 9007199254740993"],
    ]);
    updateFixtures(folder.root, results);
    const written = readFileSync(path.join(folder.root, "fixtures/a.yaml"), "utf8");
    assertEach([...written.matchAll(/size: (\S+)/g)], ([, size]) => size, [
      "9007199254740993",
      "9007199254740993",
    ]);
    assert.deepEqual((await run("9007199254740993"))[0]?.differences, []);
  });

  describe("in steps", () => {
    const answer = `{
      children: request.object.spec.size === 0 ? [] : [{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: { replicas: request.object.spec.size } }],
      status: { ready: request.children[0]?.status?.readyReplicas ?? 0, before: request.object.status?.ready ?? null, observed: request.children.map(({ metadata }) => metadata.namespace) },
    }`;
    const steps = (...lines: string[]) =>
      `object: { metadata: { name: a, namespace: ns }, spec: { size: 2 } }\nsteps:\n${lines.map((line) => `  - ${line}\n`).join("")}`;

    it("observes what it has answered, ready where the step says so, and its status", async () => {
      const results = await folder.run(handler(answer), {
        "a.yaml": steps(
          "expect: { status: { ready: 0, before: null, observed: [] } }",
          "{ ready: [Deployment/a], expect: { status: { ready: 2, before: 0, observed: [ns] } } }",
          "{ object: { spec: { size: 3 } }, expect: { children: [{ kind: Deployment, metadata: { name: a }, spec: { replicas: 3 } }], status: { ready: 2 } } }",
          "{ observed: { Deployment/a: { status: { readyReplicas: 1 } } }, expect: { status: { ready: 1 } } }",
          "{ observed: { Deployment/a: null }, expect: { status: { ready: 0, observed: [] } } }",
          "{ object: { spec: { size: 0 } }, expect: { children: [] } }",
          "{ ready: all, expect: { status: { observed: [] } } }",
        ),
      });
      assert.deepStrictEqual(
        results.flatMap(({ differences, failure }) => [...differences, ...(failure ? [failure] : [])]),
        [],
      );
      assert.deepStrictEqual(results[6]?.name, "fixtures/a.yaml step 7");
    });

    it("counts attempts, and keeps everything after an error", async () => {
      const failing = `request.attempt < 3 && request.children.length === 1 ? { error: { message: "down" } } : ${answer}`;
      const results = await folder.run(handler(failing), {
        "a.yaml": steps(
          "expect: { status: { ready: 0 } }",
          "answer: { error: { message: down } }",
          "answer: { error: { message: down } }",
          "expect: { status: { observed: [ns] } }",
        ),
      });
      assertEach(results, ({ passed }) => passed, [true, true, true, true]);
    });

    it("names the child that does not exist, and ends where no answer is", async () => {
      const results = await folder.run(handler(answer), {
        "a.yaml": steps("{ ready: [Deployment/a], expect: {} }", "expect: {}"),
      });
      assertEach(results, ({ failure }) => failure, [
        "there is no child Deployment/a at this step\nsteps not tried, since they follow from this answer: 1",
      ]);
    });
  });

  it("writes what is answered into the files, and leaves the rest of them as it is", async () => {
    const answer =
      '{ children: [{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: { replicas: 1, minReadySeconds: 2 } }], status: { at: request.object.metadata.name } }';
    const text = `# The first one.
object: { metadata: { name: a, namespace: ns } } # kept
answer: { children: [] }
---
# Nothing yet.
object: { metadata: { name: b, namespace: ns } }
---
object: { metadata: { name: c, namespace: ns } }
steps:
  - expect:
      # in part
      status: { at: x }
      children: [{ kind: Deployment, metadata: { name: a }, spec: { replicas: 7 } }]
`;
    const results = await folder.run(handler(answer), { "a.yaml": text });
    const names = ["fixtures/a.yaml#1", "fixtures/a.yaml#2", "fixtures/a.yaml#3 step 1"];
    assert.match(results[1]?.differences[0] ?? "", /^The fixture has no answer and no expect\. .* --update/);
    assert.deepStrictEqual(updateFixtures(folder.root, results), { written: names, refusals: [] });
    const written = readFileSync(path.join(folder.root, "fixtures/a.yaml"), "utf8");
    for (const line of ["# The first one.", "# kept", "# Nothing yet."])
      assert.ok(written.includes(line), written);
    const [, , third] = parseAllDocuments(written).map((document) => document.toJS());
    assert.deepStrictEqual(third.steps[0].expect, {
      status: { at: "c" },
      children: [{ kind: "Deployment", metadata: { name: "a" }, spec: { replicas: 1 } }],
    });
    const again = await folder.run(handler(answer), {});
    assertEach(again, ({ passed }) => passed, [true, true, true]);
    assert.deepStrictEqual(updateFixtures(folder.root, again), { written: [], refusals: [] });
    assert.equal(readFileSync(path.join(folder.root, "fixtures/a.yaml"), "utf8"), written);
  });

  const child = (name: string, kind = "Service", apiVersion = "v1") =>
    `{ apiVersion: "${apiVersion}", kind: "${kind}", metadata: { name: "${name}" } }`;
  const read = () => readFileSync(path.join(folder.root, "fixtures/a.yaml"), "utf8");

  it("writes an expectation that the next run meets, if none of the expected children is answered", async () => {
    const answer = `{ children: [${child("b", "Deployment", "apps/v1")}, ${child("s")}] }`;
    const children = ["v1/Service", "apps/v1/Deployment"];
    const expect = "expect: { children: [{ kind: Deployment, metadata: { name: a } }] }";
    const run = (files: Record<string, string>) =>
      folder.run(handler(answer), files, { children: children.map(kindOfKey) });
    updateFixtures(
      folder.root,
      await run({ "a.yaml": `object: { metadata: { name: a, namespace: ns } }\n${expect}\n` }),
    );
    assert.deepStrictEqual((await run({}))[0]?.differences, []);
    assert.match(read(), /kind: Service/);
  });

  it("writes no error over another expectation, nor what later steps answer then", async () => {
    const failing =
      'request.object.spec.size === 1 ? { error: { message: "down" } } : { children: [], status: { size: 2 } }';
    const text = `object: { metadata: { name: a }, spec: { size: 1 } }
expect: { children: [{ kind: Deployment, metadata: { name: s } }], status: { ready: 0 } }
---
object: { metadata: { name: a }, spec: { size: 1 } }
answer: { children: [] }
---
object: { metadata: { name: a }, spec: { size: 1 } }
answer: { error: { message: up } }
---
object: { metadata: { name: a }, spec: { size: 1 } }
steps:
  - answer: { children: [] }
  - object: { spec: { size: 2 } }
    expect: { status: { size: 1 } }
`;
    const results = await folder.run(handler(failing), { "a.yaml": text });
    assert.equal(results.length, 5);
    assert.deepStrictEqual(updateFixtures(folder.root, results).written, ["fixtures/a.yaml#3"]);
    const contents = (file: string) => parseAllDocuments(file).map((document) => document.toJS());
    assert.deepStrictEqual(contents(read()), contents(text.replace("message: up", "message: down")));
  });

  it("keeps the line ends of a file from Windows, and its long lines", async () => {
    const long = "long ".repeat(40).trim();
    const text = `# ${long}\nobject: { metadata: { name: a }, spec: { text: ${long} } }\nanswer:\n  children: []\n`;
    const results = await folder.run(handler("{ children: [], status: { size: 1 } }"), {
      "a.yaml": text.replaceAll("\n", "\r\n"),
    });
    updateFixtures(folder.root, results);
    assert.equal(read(), `${text}  status:\n    size: 1\n`.replaceAll("\n", "\r\n"));
  });

  it("says which aliases are in the way, and writes the other files", async () => {
    const results = await folder.run(handler("{ children: [], status: { size: 1 } }"), {
      "a.yaml":
        "object: { metadata: { name: a } }\nsteps:\n  - answer: &none { children: [] }\n  - answer: *none\n",
      "b.yaml":
        "object: &a { metadata: { name: a } }\nchildren: []\n---\nobject: &b { metadata: { name: &n b } }\nused: {}\nanswer: { children: [], status: *n }\n",
      "c.yaml": "object: { metadata: { name: a } }\nsteps: [&step { answer: { children: [] } }, *step]\n",
    });
    const before = read();
    const { written, refusals } = updateFixtures(folder.root, results);
    assert.deepStrictEqual(written, ["fixtures/b.yaml#1", "fixtures/b.yaml#2"]);
    assertEach(refusals, (line) => line.replace(/^.*?fixtures\//, ""), [
      "a.yaml is not updated: an alias stands for a part of fixtures/a.yaml step 1 (*none). Write that part out where the alias is.",
      "c.yaml is not updated: an alias stands for fixtures/c.yaml step 2. Write that part out where the alias is.",
    ]);
    assert.equal(read(), before);
  });

  for (const [what, text, complaint] of [
    [
      "two expectations at once",
      "object: {}\nanswer: {}\nexpect: {}\n---\nobject: {}\nsteps: []\n",
      /a\.yaml:3:1: expect is given together with answer\. Keep one[\s\S]*a\.yaml:6:1: steps is empty/,
    ],
    [
      "a file without a fixture",
      "# Nothing yet.\n",
      /fixtures\/a\.yaml: the file has no fixture in it\. Give object, children and answer\. Or remove the file/,
    ],
  ] as const)
    it(`refuses ${what}`, () => {
      addFiles(folder.root, { "fixtures/a.yaml": text });
      assert.throws(() => readFixtures(folder.root), complaint);
    });

  it("refuses a fixture that it cannot understand", () => {
    addFiles(folder.root, {
      "fixtures/a.yaml": "object: {}\nanwser: {}\n---\n[]\n",
      "fixtures/b.yaml": "object: [\n",
    });
    assert.throws(
      () => readFixtures(folder.root),
      (error: OperatorError) => {
        assert.ok(error instanceof OperatorError);
        const found = error.problems.map((problem) => problem.replace(/^.*\/fixtures\//, "").split(". ")[0]);
        assert.deepStrictEqual(found.slice(0, 2), [
          "a.yaml:2:1: anwser is not a known field",
          "a.yaml:4:1: it must be an object, not a list",
        ]);
        assert.match(found[2] ?? "", /^b.yaml:2:1: the file is not YAML/);
        return true;
      },
    );
  });

  it("reads CRDs of others' kinds as kubectl prints them, and refuses anything else next to them", () => {
    const spec = {
      group: "a.example.com",
      names: { kind: "A", plural: "as" },
      scope: "Cluster",
      versions: [],
    };
    const apiVersion = "apiextensions.k8s.io/v1";
    const metadata = {
      name: "as.a.example.com",
      uid: "u",
      resourceVersion: "4",
      generation: 2,
      labels: { a: "b" },
    };
    const kind = "CustomResourceDefinition";
    addFiles(folder.root, {
      "fixtures/crds/a.yaml": { apiVersion, kind, metadata, spec, status: { storedVersions: ["v1"] } },
    });
    assert.deepEqual(fixtureCrdsOf(folder.root), [
      { apiVersion, kind, metadata: { name: "as.a.example.com", labels: { a: "b" }, annotations: {} }, spec },
    ]);
    addFiles(folder.root, {
      "fixtures/crds/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n",
    });
    assert.throws(
      () => fixtureCrdsOf(folder.root),
      /fixtures\/crds\/b\.yaml.*: the document is no CustomResourceDefinition \(apiextensions\.k8s\.io\/v1\)\. Keep only CRDs/,
    );
  });
});
