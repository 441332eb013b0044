import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import { runFixtures } from "../../cli/fixtures";
import { readFixtures } from "../../cli/fixtures/fixture";
import { updateFixtures } from "../../cli/fixtures/update";
import { OperatorError } from "../../definition/problems";
import type { OperatorDefinition } from "../../definition/schema";
import {
  addFiles,
  loadDefinition,
  removeFolder,
  widgetCrd,
  widgetDefinition,
  writeFolder,
} from "./operatorFolder";

describe("runFixtures", () => {
  let root: string;
  const fixture = (fields: string, metadata = "name: a, uid: u, generation: 3") =>
    `object: { metadata: { ${metadata} } }\n${fields}\n`;
  const namespaced = (fields: string) => fixture(fields, "name: a, namespace: n");
  const run = (handler: string, fixtures: Record<string, string>, more: Partial<OperatorDefinition> = {}) => {
    addFiles(root, { "main.js": handler });
    for (const [name, content] of Object.entries(fixtures)) addFiles(root, { [`fixtures/${name}`]: content });
    const command = { image: "node:22-alpine", command: ["node", "main.js"] };
    return runFixtures(
      loadDefinition(root, {
        ...widgetDefinition,
        name: "widget",
        handler: command,
        timeoutSeconds: 5,
        ...more,
      }),
    );
  };
  /** A handler whose answer is an expression over the request and the number of requests so far. */
  const handler = (answer: string) => `
    let count = 0;
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const request = JSON.parse(line);
      const { id } = request;
      delete request.id;
      count++;
      console.log(JSON.stringify({ id, ...(${answer}) }));
    });`;

  beforeEach(() => {
    root = writeFolder({ "crd.yaml": widgetCrd() });
  });
  afterEach(() => removeFolder(root));

  it("gives back a state, and takes one only for objects that others own", async () => {
    addFiles(root, {
      "main.js": handler("{ children: [], state: { seen: (request.state?.seen ?? 0) + 1 } }"),
      "fixtures/a.yaml": `${fixture("answer: { children: [], state: { seen: 1 } }")}---\n${fixture("state: { seen: 1 }\nanswer: { children: [], state: { seen: 2 } }")}`,
    });
    const { crd, ...others } = widgetDefinition;
    const command = { image: "node:22-alpine", command: ["node", "main.js"] };
    const watch = { apiVersion: "apps/v1", kind: "Deployment", labels: { a: "b" } };
    const results = async (subject: object) =>
      runFixtures(loadDefinition(root, { ...others, ...subject, name: "widget", handler: command }));
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
    const results = await run(handler("{ children: [], status: { dryRun: request.dryRun ?? null } }"), {
      "a.yaml": fixture("dryRun: true\nexpect: { status: { dryRun: true } }"),
      "b.yaml": fixture(
        "dryRun: true\nsteps: [{ expect: { status: { dryRun: true } } }, { expect: { status: { dryRun: true } } }]",
      ),
      "c.yaml": fixture("answer: { children: [], status: { dryRun: null } }"),
    });
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
    const results = await run(handler("{ children: [], status: { count, request } }"), {
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
        metadata: { name: "a", uid: "u", generation: 3 },
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
    const results = await run(
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
    const [result] = await run(handler("{ status: { a: 1, b: 2 }, children: [] }"), {
      "a.yaml": fixture("answer: { children: [], status: { b: 2, a: 1 } }"),
    });
    assert.equal(result?.passed, true);
  });

  it("fails an answer that the engine would refuse, though it is the expected one", async () => {
    const child = "{ apiVersion: v1, kind: Secret, metadata: { name: a } }";
    const [result] = await run(
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
    const results = await run(handler(crashing), {
      "a.yaml": fixture("answer: { children: [] }"),
      "b.yaml": "object: { metadata: { name: b } }\nanswer: { children: [] }\n",
    });
    assert.match(results[0]?.failure ?? "", /exit code 3[\s\S]*oh no/);
    assert.equal(results[1]?.passed, true);
  });

  it("does not wait for ever", async () => {
    const [result] = await run(
      "setInterval(() => {}, 1000)",
      { "a.yaml": fixture("answer: {}") },
      {
        timeoutSeconds: 1,
      },
    );
    assert.match(result?.failure ?? "", /no answer within 1 s/);
  });

  it("says of each field that differs what was expected and what was answered", async () => {
    const [result] = await run(
      handler(
        '{ children: [{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: { replicas: 1, more: [1, 2] } }], requeueAfterSeconds: 5 }',
      ),
      {
        "a.yaml": namespaced(
          "answer:\n  children: [{ apiVersion: apps/v1, kind: Deployment, metadata: { name: a }, spec: { replicas: 2, more: [1, 3], extra: a } }, { apiVersion: apps/v1, kind: Deployment, metadata: { name: b } }]\n  status: { x: 1 }",
        ),
      },
    );
    assert.deepStrictEqual(result?.differences, [
      "Deployment a: .spec.replicas: expected 2, answered 1",
      "Deployment a: .spec.more[1]: expected 3, answered 2",
      'Deployment a: .spec.extra: expected "a", answered nothing',
      "Deployment b: expected, but not answered",
      'status: expected {"x":1}, answered nothing',
      "requeueAfterSeconds: expected nothing, answered 5",
    ]);
    assert.equal(result?.passed, false);
  });

  it("compares with expect only what it names", async () => {
    const answer =
      '{ children: [{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: { replicas: 1 } }], status: { a: 1, b: [{ c: 1, d: 2 }] } }';
    const results = await run(handler(answer), {
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
          "Deployment a: answered, but not expected",
          'status: .b: expected [], answered [{"c":1,"d":2}]',
          "status: .a: expected null, answered 1",
        ],
      ],
    );
  });

  it("asks twice, and says what was answered otherwise the second time", async () => {
    const [result] = await run(handler("{ children: [], status: { count } }"), {
      "a.yaml": fixture("answer: { children: [], status: { count: 1 } }"),
    });
    assert.deepStrictEqual(result?.differences, [
      "asked a second time: status: .count: expected 1, answered 2",
    ]);
  });

  describe("with a schema", () => {
    const properties = {
      size: { type: "integer", minimum: 1 },
      plan: { type: "object", default: {}, properties: { name: { type: "string", default: "small" } } },
    };
    const openAPIV3Schema = {
      type: "object",
      required: ["spec"],
      properties: { spec: { type: "object", required: ["size"], properties } },
    };
    beforeEach(() => {
      const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema } };
      addFiles(root, { "crd.yaml": widgetCrd({ versions: [version] }) });
    });
    const object = (spec: string, more = "") =>
      `object: { metadata: { name: a }, spec: ${spec}${more} }\nanswer: { children: [], status: { spec: { size: 2, plan: { name: small } } } }\n`;

    it("fills in the CRD's defaults, as the API server does", async () => {
      const [result] = await run(handler("{ children: [], status: { spec: request.object.spec } }"), {
        "a.yaml": object("{ size: 2 }"),
      });
      assert.deepStrictEqual([result?.failure, result?.differences], [undefined, []]);
    });

    for (const [what, text, complaint] of [
      ["of a wrong type", object("{ size: two }"), "object: spec.size must be integer"],
      ["that the schema refuses", object("{ size: 0 }"), "object: spec.size must be >= 1"],
      ["that is missing", object("{}"), "object: spec must have required property 'size'"],
      [
        "that the schema does not know",
        object("{ size: 1, sise: 2 }"),
        "object: spec.sise is not in the CRD's schema",
      ],
      [
        "of another kind",
        object("{ size: 1 }", ", kind: Gadget"),
        "object: is Gadget (shop.example.com/v1), not Widget (shop.example.com/v1)",
      ],
      [
        "of another version",
        object("{ size: 1 }", ", apiVersion: shop.example.com/v2"),
        "object: is of shop.example.com/v2, and the CRD has v1",
      ],
    ] as const) {
      it(`refuses an object ${what}`, async () => {
        const [result] = await run(handler("{ children: [] }"), { "a.yaml": text });
        assert.equal(result?.failure, complaint);
      });
    }
  });

  describe("in steps", () => {
    const answer = `{
      children: request.object.spec.size === 0 ? [] : [{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: { replicas: request.object.spec.size } }],
      status: { ready: request.children[0]?.status?.readyReplicas ?? 0, before: request.object.status?.ready ?? null, observed: request.children.map(({ metadata }) => metadata.namespace) },
    }`;
    const steps = (...lines: string[]) =>
      `object: { metadata: { name: a, namespace: n }, spec: { size: 2 } }\nsteps:\n${lines.map((line) => `  - ${line}\n`).join("")}`;

    it("observes what it has answered, ready where the step says so, and its status", async () => {
      const results = await run(handler(answer), {
        "a.yaml": steps(
          "expect: { status: { ready: 0, before: null, observed: [] } }",
          "{ ready: [Deployment/a], expect: { status: { ready: 2, before: 0, observed: [n] } } }",
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
      const failing = `request.attempt < 3 && request.children.length === 1 ? { error: { message: "no" } } : ${answer}`;
      const results = await run(handler(failing), {
        "a.yaml": steps(
          "expect: { status: { ready: 0 } }",
          "answer: { error: { message: no } }",
          "answer: { error: { message: no } }",
          "expect: { status: { observed: [n] } }",
        ),
      });
      assert.deepStrictEqual(
        results.map(({ passed }) => passed),
        [true, true, true, true],
      );
    });

    it("says which child is not there, and ends where no answer is", async () => {
      const results = await run(handler(answer), {
        "a.yaml": steps("{ ready: [Deployment/a], expect: {} }", "expect: {}"),
      });
      assert.deepStrictEqual(
        results.map(({ failure }) => failure),
        ["there is no child Deployment/a at this step"],
      );
    });
  });

  it("writes what is answered into the files, and leaves the rest of them as it is", async () => {
    const answer =
      '{ children: [{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: { replicas: 1, b: 2 } }], status: { at: request.object.metadata.name } }';
    const text = `# The first one.
object: { metadata: { name: a, namespace: n } } # kept
answer: { children: [] }
---
# Nothing yet.
object: { metadata: { name: b, namespace: n } }
---
object: { metadata: { name: c, namespace: n } }
steps:
  - expect:
      # in part
      status: { at: x }
      children: [{ kind: Deployment, metadata: { name: a }, spec: { replicas: 7 } }]
`;
    const results = await run(handler(answer), { "a.yaml": text });
    const names = ["fixtures/a.yaml#1", "fixtures/a.yaml#2", "fixtures/a.yaml#3 step 1"];
    assert.match(results[1]?.differences[0] ?? "", /^it expects nothing yet\. .* --update/);
    assert.deepStrictEqual(updateFixtures(root, results), names);
    const written = readFileSync(path.join(root, "fixtures/a.yaml"), "utf8");
    for (const line of ["# The first one.", "# kept", "# Nothing yet."])
      assert.ok(written.includes(line), written);
    const [, , third] = parseAllDocuments(written).map((document) => document.toJS());
    assert.deepStrictEqual(third.steps[0].expect, {
      status: { at: "c" },
      children: [{ kind: "Deployment", metadata: { name: "a" }, spec: { replicas: 1 } }],
    });
    const again = await run(handler(answer), {});
    assert.deepStrictEqual(
      again.map(({ passed }) => passed),
      [true, true, true],
    );
    assert.deepStrictEqual(updateFixtures(root, again), []);
    assert.equal(readFileSync(path.join(root, "fixtures/a.yaml"), "utf8"), written);
  });

  it("refuses two expectations beside each other", () => {
    addFiles(root, { "fixtures/a.yaml": "object: {}\nanswer: {}\nexpect: {}\n---\nobject: {}\nsteps: []\n" });
    assert.throws(
      () => readFixtures(root),
      /a\.yaml:3:1: expect is given together with answer\. Keep one[\s\S]*a\.yaml:6:1: steps is empty/,
    );
  });

  it("refuses a fixture that it cannot understand", () => {
    addFiles(root, {
      "fixtures/a.yaml": "object: {}\nanwser: {}\n---\n[]\n",
      "fixtures/b.yaml": "object: [\n",
    });
    assert.throws(
      () => readFixtures(root),
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
});
