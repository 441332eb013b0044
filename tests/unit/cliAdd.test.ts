import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { parse, stringify } from "yaml";
import { onlyDocument, withEntry } from "../../cli/add/yamlEntry";
import { main } from "../../cli/argosy";
import { keepingLineEnds } from "../../cli/lineEnds";
import type { Json } from "../../runtime/kubernetes/objects";
import { addFiles, removeFolder, widgetCrd, writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";

const DEFINITION = `# The first line.
crd: crd.yaml # of it
handler: { image: "python:3.13-slim", command: [python3, main.py] }

children: [v1/ConfigMap] # what it answers
`;

describe("argosy add", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "handlers/widget/crd.yaml": widgetCrd(),
      "handlers/widget/main.py": "",
      "handlers/widget/operator.yaml": DEFINITION,
    });
  });
  afterEach(() => removeFolder(root));
  const run = (...args: string[]) =>
    captured(() => main(["add", ...args, "--handlers", path.join(root, "handlers")]));
  const read = () => readFileSync(path.join(root, "handlers/widget/operator.yaml"), "utf8");

  it("adds a kind of children, keeps every comment, and says which rights are gained", async () => {
    const { result, stdout, stderr } = await run("child", "widget", "apps/v1/StatefulSet");
    assert.deepEqual([result, stderr], [0, ""]);
    assert.equal(read(), DEFINITION.replace("[v1/ConfigMap]", "[v1/ConfigMap, apps/v1/StatefulSet]"));
    assert.match(
      stdout,
      /operator\.yaml: Added apps\/v1\/StatefulSet to children\.\nThe operator.s account gains:\n/,
    );
    assert.match(stdout, /create.* apps\/statefulsets everywhere/);
    assert.doesNotMatch(stdout, /configmaps/);
    await run("child", "widget", "batch/v1/Job", "--update", "recreate");
    assert.deepEqual(parse(read()).children[2], { apiVersion: "batch/v1", kind: "Job", update: "recreate" });
  });

  it("adds what objects use, and names the rights to read it", async () => {
    const { result, stdout, stderr } = await run(
      ...["uses", "widget", "settings", "v1/ConfigMap", "'settings'", "--namespace", "shared"],
    );
    assert.deepEqual([result, stderr], [0, ""]);
    assert.deepEqual(parse(read()).uses, {
      settings: { apiVersion: "v1", kind: "ConfigMap", name: "'settings'", namespace: "shared" },
    });
    assert.ok(read().startsWith(DEFINITION));
    const added = read();
    const unknown = await run("uses", "widget", "other", "v1/ConfigMap", "spec.missing");
    assert.match(
      unknown.stderr,
      /uses\.other\.name is spec\.missing, and the CRD's schema has no spec\.missing/,
    );
    assert.equal(read(), added);
    assert.match(stdout, /Added settings to uses\.\nThe operator.s account gains:\n.*configmaps.*shared/);
  });

  it("adds an event from outside, which makes objects of what the CRD's spec has", async () => {
    const openAPIV3Schema = {
      type: "object",
      properties: {
        spec: {
          type: "object",
          required: ["size"],
          properties: { size: { type: "integer" }, plan: { type: "string" } },
        },
      },
    };
    const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema } };
    addFiles(root, { "handlers/widget/crd.yaml": widgetCrd({ versions: [version] }) });
    const { result, stdout, stderr } = await run("event", "widget", "order-placed", "--namespace", "shop");
    assert.deepEqual([result, stderr], [0, ""]);
    assert.ok(read().startsWith(DEFINITION), read());
    assert.deepEqual(parse(read()).on["order-placed"], {
      webhook: {
        endpoint: "/order-placed",
        method: "POST",
        port: "12000",
        authSecret: { name: "order-placed", key: "token" },
      },
      id: ["body.id"],
      create: { kind: "Widget", namespace: "shop", spec: { size: "body.size", plan: "body.plan?" } },
    });
    assert.match(
      stdout,
      /The intake of events gains the right[\s\S]*Create the Secret that authSecret names/,
    );
    assert.equal((await run("event", "widget", "order-placed")).result, 1);
  });

  it("adds to a definition before an empty document, and refuses an alias", async () => {
    addFiles(root, { "handlers/widget/operator.yaml": `${DEFINITION}---\n` });
    const { result, stderr } = await run("schedule", "widget", "nightly", "0 3 * * *");
    assert.deepEqual([result, stderr], [0, ""]);
    assert.equal(read(), `${DEFINITION}schedules:\n  nightly: { cron: 0 3 * * * }\n---\n`);
    const definition = DEFINITION.replace("[v1/ConfigMap]", "*none").replace(
      "crd:",
      "include: &none []\ncrd:",
    );
    addFiles(root, { "handlers/widget/operator.yaml": definition });
    const refused = await run("child", "widget", "v1/Secret");
    assert.deepEqual([refused.result, refused.stdout], [1, ""]);
    assert.match(refused.stderr, /operator\.yaml: an alias stands for children\. Write it out/);
    assert.equal(read(), definition);
  });

  it("writes nothing that would not be in order", async () => {
    for (const [args, code, complaint] of [
      [
        ["child", "widget", "StatefulSet"],
        1,
        /children\[1\].* is "StatefulSet", not a group, a version and a kind/,
      ],
      [["child", "widget", "apps/v1/Job"], 1, /children\[1\]/],
      [["child", "widget", "batch/v1/Job", "--update", "sometimes"], 1, /update is "sometimes"/],
      [["child", "widget", "v1/ConfigMap"], 1, /children already has v1\/ConfigMap\.\n$/],
      [["child", "widget"], 2, /^Write: argosy add child OPERATOR apps\/v1\/Deployment/],
      [["child", "widgt", "v1/Secret"], 2, /^There is no operator widgt\. Did you mean widget\?/],
      [["chidl", "widget", "v1/Secret"], 2, /nothing with this name can be added\. Did you mean child\?/],
      [["schedule", "widget", "nightly"], 2, /^Write: argosy add schedule/],
      [["uses", "widget", "settings", "v1/ConfigMap"], 2, /^Write: argosy add uses/],
      [
        ["child", "widget", "v1/Secret", "--namespace", "a"],
        2,
        /^argosy add child has no option --namespace\. Write: argosy add child/,
      ],
      [["event", "widget", "a", "--time-zone", "UTC"], 2, /^argosy add event has no option --time-zone\./],
    ] as const) {
      const { result, stdout, stderr } = await run(...args);
      assert.deepEqual([result, stdout], [code, ""], args.join(" "));
      assert.match(stderr, complaint);
      assert.equal(read(), DEFINITION);
    }
  });
});

describe("an entry more in a YAML file", () => {
  const added = (before: string, field: string, key: string | undefined, value: Json) =>
    keepingLineEnds(before, (text) => withEntry(text, onlyDocument(text), { field, key, value }));
  const cases: readonly [what: string, before: string, after: string][] = [
    [
      "in a list of its own lines",
      "a:\n  - x # one\n# end\nb: 1\n",
      "a:\n  - x # one\n  - new\n# end\nb: 1\n",
    ],
    ["in a list without indentation", "a:\n- x\nb: 1\n", "a:\n- x\n- new\nb: 1\n"],
    ["in an empty list", "a: [] # none\n", "a: [new] # none\n"],
    ["in a list over several lines", "a: [\n  x, # one\n  y\n]\n", "a: [\n  x, # one\n  y, new\n]\n"],
    ["in a list that is not there", "b: 1", "b: 1\na: [new]\n"],
    ["before an empty document", "b: 1\n# end\n---\n# none\n", "b: 1\n# end\na: [new]\n---\n# none\n"],
    ["before the marker of the end", "---\nb: 1\n...\n", "---\nb: 1\na: [new]\n...\n"],
    ["in a list before an empty document", "a:\n  - x\n---\n", "a:\n  - x\n  - new\n---\n"],
  ];
  for (const [what, before, after] of cases) {
    it(what, () => assert.equal(added(before, "a", undefined, "new"), after));
  }

  it("with the line ends of the file", () => {
    const before = "crd: crd.yaml\r\nb: # why\r\n  - x\r\n";
    assert.equal(added(before, "b", undefined, "y"), `${before}  - y\r\n`);
    assert.equal(added(before, "a", "c", 5), `${before}a:\r\n  c: 5\r\n`);
  });

  it("in a map, whatever its form", () => {
    const value = { cron: "0 3 * * *" };
    assert.equal(added("b: 1\n", "a", "k", value), "b: 1\na:\n  k: { cron: 0 3 * * * }\n");
    assert.equal(added("a:\n  j: { x: 1 }\nb: 1\n", "a", "k", 2), "a:\n  j: { x: 1 }\n  k: 2\nb: 1\n");
    assert.equal(added("a: { j: 1 }\n", "a", "k", 2), "a: { j: 1, k: 2 }\n");
  });

  it("says what it is to say, and nothing else is changed, for any content", () => {
    const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean());
    const content = fc.dictionary(fc.stringMatching(/^[b-z]{1,5}$/), scalar, { noNullPrototype: true });
    const list = fc.array(scalar, { maxLength: 3 });
    fc.assert(
      fc.property(
        content,
        list,
        fc.constantFrom("block", "flow"),
        scalar,
        (others, items, collectionStyle, value) => {
          const text = stringify({ ...others, a: items, z: 1 }, { collectionStyle });
          assert.deepEqual(parse(added(text, "a", undefined, value)), {
            ...others,
            a: [...items, value],
            z: 1,
          });
        },
      ),
    );
  });
});
