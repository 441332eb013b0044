import assert from "node:assert/strict";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { parse, parseDocument } from "yaml";
import { manifestYaml, textOf, yaml } from "../../cli/common/yaml";
import { runOf } from "../../cli/inspect/runs";
import { checkCommand, commandOnPath } from "../../definition/commandOnPath";
import { Problems } from "../../definition/problems";
import { readYaml } from "../../definition/readYaml";
import { WORKFLOWS } from "../../runtime/report/workflows";
import { temporaryFolder } from "../support/temporaryFolder";
import { addFiles, loadDefinition, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { anyCharacter } from "./support/anyCharacter";
import { observed } from "./support/objects";
import { runArgosy } from "./support/runArgosy";
import { useWidgetFolder } from "./support/widgetFolder";

describe("argosy files", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "handlers/widget/operator.yaml": {
        ...widgetDefinition,
        handler: "main.ts",
        include: ["../shared"],
        files: { image: "a:1" },
      },
      "handlers/widget/crd.yaml": widgetCrd(),
      "handlers/widget/main.ts":
        'import { one } from "../shared/one";\nexport const reconcile = (): object => ({ children: [], status: { one } });\n',
      "handlers/widget/run.sh": "",
      "handlers/widget/lib/fast.so": "",
      "handlers/shared/one.ts": "export const one: number = 1;\n",
      "handlers/shared/text.txt": "text",
    });
  });
  const handlers = () => path.join(root, "handlers");
  const run = (...args: string[]) =>
    runArgosy("files", ...args, "--handlers", handlers(), "--out", path.join(root, "out"));

  it("writes what the handler finds in a cluster, compiled code included", async () => {
    const { result, stderr } = await run("widget");
    assert.deepEqual([result, stderr], [0, ""]);
    const bundle = readFileSync(path.join(root, "out/widget/main.ts"), "utf8");
    const module = { exports: {} as { reconcile?: () => unknown } };
    new Function("module", "exports", "require", "__filename", bundle)(module, module.exports, require, "/x");
    assert.deepEqual(module.exports.reconcile?.(), { children: [], status: { one: 1 } });
    assert.equal(readFileSync(path.join(root, "out/shared/text.txt"), "utf8"), "text");
    assert.equal(statSync(path.join(root, "out/widget/run.sh")).mode & 0o555, 0o555);
    assert.ok(statSync(path.join(root, "out/widget/lib/fast.so")));
    assert.throws(() => statSync(path.join(root, "out/shared/one.ts")));
  });

  it("overwrites nothing, and knows the operators", async () => {
    await run("widget");
    const again = await run("widget");
    assert.equal(again.result, 1);
    assert.match(again.stderr, /out is not empty\. Name an empty folder with --out\.\n$/);
    const unknown = await run("widgt");
    assert.equal(unknown.result, 2);
    assert.equal(unknown.stderr, "There is no operator widgt. Did you mean widget?\n");
  });
});

/** Texts that some reader of YAML reads otherwise. */
const TRAPS = [
  ...["<<", "yes", "n", "On", "off", "y", "0644", "017", "0o17", "1_0", "0b1", "1:20", "12:30:45", "1e3"],
  ...["a\u0085b", "\u2028", "~", "null", ""],
];

describe("YAML that a command writes", () => {
  const value = { data: { "<<": "kept", other: { "<<": 1 } } };
  let folder: string;
  before(() => {
    folder = temporaryFolder();
  });

  it("has no merge key: it would be refused when it is read", () => {
    assert.equal(yaml(value), 'data:\n  "<<": kept\n  other: { "<<": 1 }\n');
  });

  it("has none in an edited document either", () => {
    const document = parseDocument("a: 1\n");
    document.set("b", document.createNode(value));
    assert.doesNotMatch(textOf(document), /^\s*<</m);
    assert.deepEqual(parseDocument(textOf(document)).toJS(), { a: 1, b: value });
  });

  it("is accepted by readYaml, and a manifest is read alike by YAML 1.1, whatever the texts and keys, and has only the line ends of every YAML", () => {
    const text = fc.oneof(fc.constantFrom(...TRAPS), fc.string(), fc.string({ unit: anyCharacter }));
    const content = fc.record({ object: fc.dictionary(text, fc.oneof(text, fc.array(text))) });
    fc.assert(
      fc.property(content, (given) => {
        const wanted = JSON.parse(JSON.stringify(given)) as object;
        assert.deepEqual(parse(manifestYaml(wanted), { version: "1.1" }), wanted);
        for (const written of [yaml(wanted), manifestYaml(wanted)]) {
          assert.doesNotMatch(written, /[\u0085\u2028\u2029]/);
          const file = path.join(folder, "a.yaml");
          writeFileSync(file, written);
          const problems = new Problems();
          const [document] = readYaml(file, "", problems) ?? [];
          assert.deepEqual(problems.toError().problems, []);
          assert.deepEqual(document?.content, wanted);
        }
      }),
    );
  });
});

describe("commandOnPath", () => {
  const widget = useWidgetFolder();

  beforeEach(() => {
    addFiles(widget.root, { "bin/tool": "#!/bin/sh\n", "bin/plain": "", "late/tool": "#!/bin/sh\n" });
    chmodSync(path.join(widget.root, "bin/tool"), 0o755);
    chmodSync(path.join(widget.root, "late/tool"), 0o755);
  });

  const find = (command: string, ...directories: string[]) =>
    commandOnPath(
      command,
      { PATH: directories.map((name) => name && path.join(widget.root, name)).join(":") },
      widget.root,
    );

  it("uses the first directory that has it", () => {
    assert.equal(find("tool", "none", "bin", "late"), path.join(widget.root, "bin/tool"));
  });
  it("passes over what cannot be executed", () => {
    assert.equal(find("plain", "bin"), undefined);
    assert.equal(find("bin", "", "late"), undefined);
  });
  it("reads an empty entry as the current directory", () => {
    assert.equal(find("bin/tool"), path.join(widget.root, "bin/tool"));
    assert.equal(
      commandOnPath("tool", { PATH: ":/none" }, path.join(widget.root, "bin")),
      path.join(widget.root, "bin/tool"),
    );
  });
  it("does not look on the PATH for a path", () => {
    assert.equal(find("./tool", "bin"), undefined);
    assert.equal(find("./bin/tool", ""), path.join(widget.root, "bin/tool"));
  });
  it("finds the shell without a PATH", () => {
    assert.equal(commandOnPath("sh", {}), "/bin/sh");
  });
  const checked = (program: string) => {
    const handler = { image: "python:3.13-slim", command: [program, "main.py"] };
    checkCommand(loadDefinition(widget.folder, { ...widgetDefinition, handler }));
  };
  it("has an error that names the remedy", () => {
    assert.throws(() => checked("notThere"), {
      name: "OperatorError",
      message:
        /operator.yaml:5:7: handler.command\[0\] "notThere" is not on the PATH of this machine\. Install notThere here; .* python:3.13-slim\.$/,
    });
  });
  it("looks for an absolute path on this machine, as in the image", () => {
    assert.throws(() => checked("/notThere/cache"), {
      message:
        /"\/notThere\/cache" is not an executable file of this machine\. Install \/notThere\/cache here; on a cluster it comes with the image python:3.13-slim\.$/,
    });
  });
  it("looks for a path in the operator's folder", () => {
    addFiles(widget.folder, { "run.py": "" });
    assert.throws(() => checked("./run.py"), {
      message: /is not an executable file of .*widget\. Make it/,
    });
    chmodSync(path.join(widget.folder, "run.py"), 0o755);
    checked("./run.py");
  });
});

const FORBIDDEN = 'pods "press-1" is forbidden: exceeded quota: none';

/** A run, as `argosy runs` and `argosy explain` know it. */
const runWith = (content: object, labels: Record<string, string> = {}) =>
  runOf(
    observed(
      WORKFLOWS.kind,
      { apiVersion: WORKFLOWS.apiVersion, ...content },
      { name: "press-1", namespace: "argosy", labels },
    ),
    (identity) => (identity === "argosy.press" ? { apiVersion: "a/v1", kind: "Press" } : undefined),
  );

describe("the message of a run", () => {
  const messageOf = (status: object) => runWith({ status }).message;

  it("is why its pod waits, as long as the Workflow itself says nothing", () => {
    const nodes = { "press-1": { phase: "Pending", message: FORBIDDEN } };
    assert.equal(messageOf({ phase: "Running", nodes }), FORBIDDEN);
    assert.equal(messageOf({ phase: "Failed", message: "Stopped", nodes }), "Stopped");
  });

  it("is none if nothing waits", () => {
    assert.equal(
      messageOf({ phase: "Running", nodes: { "press-1": { phase: "Running", message: "" } } }),
      undefined,
    );
    assert.equal(messageOf({ phase: "Running", nodes: { "press-1": { phase: "Pending" } } }), undefined);
    assert.equal(messageOf({}), undefined);
  });
});

describe("a run in JSON", () => {
  it("names its operator, its installation and its object, and has no key for what it does not have", () => {
    const parameters = [
      { name: "namespace", value: "shop" },
      { name: "name", value: "cards" },
    ];
    const run = (operator: string, content: object = {}) =>
      JSON.parse(JSON.stringify(runWith(content, { "argosy.dev/operator": operator })));
    const spec = { arguments: { parameters } };
    const base = { name: "press-1", namespace: "argosy", phase: "Pending" };
    const object = { namespace: "shop", name: "cards" };
    assert.deepEqual(run("argosy.press", { spec }), {
      ...base,
      operator: "press",
      installation: "argosy",
      object: { apiVersion: "a/v1", kind: "Press", ...object },
    });
    assert.deepEqual(run("argosy.gone", { spec }), {
      ...base,
      operator: "gone",
      installation: "argosy",
      object,
    });
    assert.deepEqual(run("argosy.press"), {
      ...base,
      operator: "press",
      installation: "argosy",
    });
  });
});
