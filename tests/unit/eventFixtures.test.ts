import assert from "node:assert/strict";
import { runFixtures } from "../../cli/fixtures/runFixtures";
import { OperatorError } from "../../definition/problems";
import {
  addFiles,
  loadDefinition,
  widgetCrd,
  widgetDefinition,
  widgetVersion,
  writeFolder,
} from "./operatorFolder";

describe("fixtures of events", () => {
  let root: string;
  beforeEach(() => {
    const spec = { type: "object", properties: { text: { type: "string" }, count: { type: "integer" } } };
    root = writeFolder({ "crd.yaml": widgetCrd({ versions: [widgetVersion({}, { spec })] }), "main.py": "" });
  });

  const run = async (...documents: string[]) => {
    addFiles(root, { "fixtures/events.yaml": documents.join("\n---\n") });
    const webhook = { endpoint: "/a", method: "POST", port: "12000", authSecret: { name: "a", key: "b" } };
    const create = { kind: "Widget", namespace: "shop", spec: { text: "body.text", count: "body.count?" } };
    const on = { hook: { webhook, id: ["body.id"], when: { "body.kind": "x" }, create } };
    const operator = loadDefinition(root, { ...widgetDefinition, name: "widget", on });
    return (await runFixtures(operator)).map(({ passed, differences }) =>
      passed ? true : differences.join(),
    );
  };
  const event = (body: string) => `on: hook\nevent: { body: { kind: x, id: 1, ${body} } }`;

  it("pass if the event becomes what they say, as far as they say it", async () => {
    assert.deepEqual(
      await run(
        `${event('text: a, count: "3"')}\nobject: { apiVersion: shop.example.com/v1, kind: Widget, metadata: { namespace: shop }, spec: { text: a, count: 3 } }`,
        `${event("text: a")}\nobject: { spec: { count: null } }`,
        "on: hook\nevent: { body: { kind: z } }\nobject: null",
        `${event("text: null")}\nrefused: body.text`,
        `${event("text: a, count: many")}\nrefused: spec.count`,
      ),
      [true, true, true, true, true],
    );
  });

  it("fail if it becomes something else, and say what", async () => {
    const [other, nothing, something, refused, unknown] = await run(
      `${event("text: a")}\nobject: { spec: { text: b } }`,
      `${event("text: a")}\nobject: null`,
      "on: hook\nevent: { body: { kind: z } }\nobject: { spec: { text: a } }",
      `${event("text: a")}\nrefused: body.text`,
      "on: hok\nevent: {}\nobject: null",
    );
    assert.match(String(other), /spec: \.text: expected "?b"?, got "?a"?/);
    assert.match(String(nothing), /expected no object, but it became hook-[0-9a-f]{20}/);
    assert.match(String(something), /expected an object, but it does not meet `when`/);
    assert.match(String(refused), /expected to be refused for body\.text, but it became/);
    assert.match(String(unknown), /the operator has no event hok\. Known events: hook/);
  });

  it("say one thing that is expected", async () => {
    for (const document of ["on: hook\nevent: {}", "on: hook\nevent: {}\nobject: null\nrefused: a"]) {
      await assert.rejects(run(document), (error: Error) => {
        assert.ok(error instanceof OperatorError);
        assert.match(error.message, /fixtures\/events\.yaml.*object or refused must be given, and not both/);
        return true;
      });
    }
  });
});
