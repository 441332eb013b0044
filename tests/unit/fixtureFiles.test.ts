import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import { fixtureCrdsOf } from "../../cli/fixtures/definitions";
import { readFixtures } from "../../cli/fixtures/fixture";
import { updateFixtures } from "../../cli/fixtures/update";
import { OperatorError } from "../../definition/problems";
import { kindOfKey } from "../../runtime/base/resource";
import { addFiles } from "./operatorFolder";
import { FixtureFolder, handler } from "./support/fixtureFolder";

describe("runFixtures", () => {
  let folder: FixtureFolder;
  beforeEach(() => {
    folder = new FixtureFolder();
  });
  afterEach(() => folder.remove());

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
    assert.deepEqual(
      results.map(({ differences, failure }) => failure ?? differences),
      [["status: .size: expected 9007199254740992, got 9007199254740993"]],
    );
    updateFixtures(folder.root, results);
    const written = readFileSync(path.join(folder.root, "fixtures/a.yaml"), "utf8");
    assert.deepEqual(
      [...written.matchAll(/size: (\S+)/g)].map(([, size]) => size),
      ["9007199254740993", "9007199254740993"],
    );
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
      assert.deepStrictEqual(
        results.map(({ passed }) => passed),
        [true, true, true, true],
      );
    });

    it("names the child that does not exist, and ends where no answer is", async () => {
      const results = await folder.run(handler(answer), {
        "a.yaml": steps("{ ready: [Deployment/a], expect: {} }", "expect: {}"),
      });
      assert.deepStrictEqual(
        results.map(({ failure }) => failure),
        [
          "there is no child Deployment/a at this step\nsteps not tried, since they follow from this answer: 1",
        ],
      );
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
    assert.deepStrictEqual(
      again.map(({ passed }) => passed),
      [true, true, true],
    );
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
    assert.deepStrictEqual(
      refusals.map((line) => line.replace(/^.*?fixtures\//, "")),
      [
        "a.yaml is not updated: an alias stands for a part of fixtures/a.yaml step 1 (*none). Write that part out where the alias is.",
        "c.yaml is not updated: an alias stands for fixtures/c.yaml step 2. Write that part out where the alias is.",
      ],
    );
    assert.equal(read(), before);
  });

  it("refuses two expectations at once", () => {
    addFiles(folder.root, {
      "fixtures/a.yaml": "object: {}\nanswer: {}\nexpect: {}\n---\nobject: {}\nsteps: []\n",
    });
    assert.throws(
      () => readFixtures(folder.root),
      /a\.yaml:3:1: expect is given together with answer\. Keep one[\s\S]*a\.yaml:6:1: steps is empty/,
    );
  });

  it("refuses a file without a fixture", () => {
    addFiles(folder.root, { "fixtures/a.yaml": "# Nothing yet.\n" });
    assert.throws(
      () => readFixtures(folder.root),
      /fixtures\/a\.yaml: the file has no fixture in it\. Give object, children and answer\. Or remove the file/,
    );
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
