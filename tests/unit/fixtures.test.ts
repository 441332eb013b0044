import assert from "node:assert/strict";
import { runFixtures } from "../../cli/fixtures/runFixtures";
import { addFiles, loadDefinition, widgetCrd, widgetDefinition, widgetVersion } from "./operatorFolder";
import { captured } from "./support/captured";
import { FixtureFolder, fixture, handler, namespaced } from "./support/fixtureFolder";

describe("runFixtures", () => {
  let folder: FixtureFolder;
  beforeEach(() => {
    folder = new FixtureFolder();
  });
  afterEach(() => folder.remove());

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
    assert.deepStrictEqual(
      (await results({ watch })).map(({ passed, failure }) => [passed, failure]),
      [
        [true, undefined],
        [true, undefined],
      ],
    );
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
    assert.deepStrictEqual(
      results.map(({ name, passed }) => [name, passed]),
      [
        ["fixtures/a.yaml#1", false],
        ["fixtures/a.yaml#2", false],
        ["fixtures/b.yaml", false],
      ],
    );
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
    assert.deepStrictEqual(
      results.map(({ passed, failure }) => [passed, failure]),
      [
        [true, undefined],
        [true, undefined],
        [true, undefined],
        [false, "due: operator.yaml has no schedule weekly"],
      ],
    );
  });

  it("passes an answer that is the expected one, whatever the order of its keys", async () => {
    const [result] = await folder.run(handler("{ status: { a: 1, b: 2 }, children: [] }"), {
      "a.yaml": fixture("answer: { children: [], status: { b: 2, a: 1 } }"),
    });
    assert.equal(result?.passed, true);
  });

  it("fails an answer that the engine would refuse, though it is the expected one", async () => {
    const child = "{ apiVersion: v1, kind: Secret, metadata: { name: a } }";
    const [result] = await folder.run(
      handler('{ children: [{ apiVersion: "v1", kind: "Secret", metadata: { name: "a" } }] }'),
      {
        "a.yaml": fixture(`answer: { children: [${child}] }`),
      },
    );
    assert.equal(result?.passed, false);
    assert.match(result?.failure ?? "", /Secret.*does not declare/);
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
    assert.deepStrictEqual(
      results.map(({ name, failure = "" }) => [name, failure.split("\n").slice(1)]),
      [
        ["fixtures/a.yaml step 1", ["steps not tried, since they follow from this answer: 2"]],
        ["fixtures/b.yaml step 1", []],
      ],
    );
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

  it("says what is wrong with a status, and what to do", async () => {
    const status = { type: "object", properties: { size: { type: "integer" } } };
    addFiles(folder.root, { "crd.yaml": widgetCrd({ versions: [widgetVersion({}, { status })] }) });
    const [result] = await folder.run(handler('{ children: [], status: { size: "2" } }'), {
      "a.yaml": fixture("answer: { children: [] }"),
    });
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
    assert.deepStrictEqual(
      results.map(({ differences }) => differences),
      [
        [],
        [],
        [
          "Deployment a: returned, but not expected",
          'status: .b: expected [], got [{"c":1,"d":2}]',
          "status: .a: expected null, got 1",
        ],
      ],
    );
  });

  it("compares keys that every object of JavaScript inherits like any other", async () => {
    const child = (annotations: object) =>
      JSON.stringify({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a", annotations } });
    const results = await folder.run(handler(`{ children: [${child({ constructor: "x" })}] }`), {
      "a.yaml": namespaced(`answer: { children: [${child({ toString: "y" })}] }`),
      "b.yaml": namespaced(`expect: { children: [${child({ toString: null })}] }`),
    });
    assert.deepStrictEqual(
      results.map(({ differences }) => differences),
      [
        [
          'Deployment a: .metadata.annotations.toString: expected "y", got nothing',
          'Deployment a: .metadata.annotations.constructor: expected nothing, got "x"',
        ],
        [],
      ],
    );
  });

  it("asks twice, and says what was answered otherwise the second time", async () => {
    const [result] = await folder.run(handler("{ children: [], status: { count } }"), {
      "a.yaml": fixture("answer: { children: [], status: { count: 1 } }"),
    });
    assert.deepStrictEqual(result?.differences, ["asked a second time: status: .count: expected 1, got 2"]);
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
    assert.deepEqual(
      results.map(({ differences, failure }) => failure ?? differences),
      [[], [], []],
    );
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
});
