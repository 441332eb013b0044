import assert from "node:assert/strict";
import { readFixtures, runFixtures } from "../../cli/fixtures";
import { OperatorError } from "../../definition/problems";
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
  const fixture = (fields: string) => `object: { metadata: { name: a, uid: u, generation: 3 } }\n${fields}\n`;
  const run = (handler: string, fixtures: Record<string, string>, timeoutSeconds = 5) => {
    addFiles(root, { "main.js": handler });
    for (const [name, content] of Object.entries(fixtures)) addFiles(root, { [`fixtures/${name}`]: content });
    const command = { image: "node:22-alpine", command: ["node", "main.js"] };
    return runFixtures(
      loadDefinition(root, { ...widgetDefinition, name: "widget", handler: command, timeoutSeconds }),
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

  it("asks what the contract says, in one process, in the order of the files' names", async () => {
    const results = await run(handler("{ children: [], status: { count, request } }"), {
      "b.yaml": fixture("event: finalize\nanswer: {}"),
      "a.yaml": `${fixture("answer: {}")}---\n${fixture("children: [{ kind: Pod }]\nanswer: {}")}`,
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
      object: { metadata: { name: "a", uid: "u", generation: 3 } },
      children: [{ kind: "Pod" }],
      used: {},
      due: [],
      attempt: 1,
    };
    assert.deepStrictEqual(results[1]?.actual, { children: [], status: { count: 2, request } });
    // "finalize" has an answer of its own: children are none of it.
    assert.match(results[2]?.failure ?? "", /children/);
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

  it("tells of a crash with its standard error, and goes on in a fresh process", async () => {
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
    const [result] = await run("setInterval(() => {}, 1000)", { "a.yaml": fixture("answer: {}") }, 1);
    assert.match(result?.failure ?? "", /no answer within 1 s/);
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
        assert.deepStrictEqual(found.slice(0, 3), [
          "a.yaml:1:1: answer is missing",
          "a.yaml:2:1: anwser is not a known field",
          "a.yaml:4:1: it must be an object, not a list",
        ]);
        assert.match(found[3] ?? "", /^b.yaml:2:1: the file is not YAML/);
        return true;
      },
    );
  });
});
