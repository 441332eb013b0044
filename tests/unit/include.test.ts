import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import path from "node:path";
import { addFiles, problemsOf, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";

describe("include", () => {
  let root: string;
  let folder: string;
  beforeEach(() => {
    root = writeFolder({
      "handlers/widget/crd.yaml": widgetCrd(),
      "handlers/widget/main.py": "print()\n",
      "handlers/shared/util.py": "",
      "handlers/gear/operator.yaml": "",
      "handlers/gear/lib/util.py": "",
      "elsewhere/util.py": "",
    });
    folder = path.join(root, "handlers/widget");
  });
  const problems = (...include: unknown[]) => problemsOf(folder, { ...widgetDefinition, include });

  it("names folders next to the operator's", () => {
    addFiles(root, { "handlers/more/lib/util.py": "" });
    assert.deepStrictEqual(problems("../shared", "../more/lib"), []);
  });

  for (const place of [
    "shared",
    "../../elsewhere",
    "../shared/../../elsewhere",
    "/etc",
    "..",
    "../",
    "../shared/",
  ]) {
    it(`refuses the path ${place}`, () => {
      assert.deepStrictEqual(problems(place), [
        `include[0] is "${place}", not a folder next to the operator's own. Write it from the operator's folder, for example include: [../shared].`,
      ]);
    });
  }

  it("refuses a missing folder, a file, an operator, and a folder that is named twice", () => {
    addFiles(root, { "handlers/shared/deep/x.py": "" });
    assert.deepStrictEqual(
      problems("../shard", "../shared/util.py", "../gear/lib", "../widget", "../shared", "../shared/deep"),
      [
        'include[0] "../shard" is missing. Create the folder, or correct its name.',
        'include[1] "../shared/util.py" is not a folder. Name the folder that the file is in.',
        `include[2] "../gear/lib" is in an operator's folder. Put what operators share into a folder of its own.`,
        `include[3] "../widget" is in an operator's folder. Put what operators share into a folder of its own.`,
        'include[5] "../shared/deep" is included already. Name each folder once.',
      ],
    );
  });

  it("refuses a symbolic link that leads outside the folder of the operators", () => {
    symlinkSync("../elsewhere", path.join(root, "handlers/link"));
    symlinkSync("shared", path.join(root, "handlers/alias"));
    assert.deepStrictEqual(problems("../link", "../alias"), [
      `include[0] "../link" leads outside the folder of the operators. Put the folder itself next to the operator's.`,
    ]);
  });

  it("is refused in an operator that is a symbolic link to elsewhere", () => {
    symlinkSync("../handlers/widget", path.join(root, "elsewhere/widget"));
    addFiles(root, { "elsewhere/shared/util.py": "" });
    const definition = { ...widgetDefinition, include: ["../shared"] };
    const [problem = "", ...others] = problemsOf(path.join(root, "elsewhere/widget"), definition);
    assert.deepStrictEqual(others, []);
    assert.match(problem, /^include cannot be found, because the operator.s folder is a symbolic link/);
  });

  it("needs a folder whose name a ConfigMap can carry", () => {
    addFiles(root, { "handlers/my widget/crd.yaml": widgetCrd(), "handlers/my widget/main.py": "" });
    const other = path.join(root, "handlers/my widget");
    const definition = { ...widgetDefinition, name: "widget", include: ["../shared"] };
    assert.match(problemsOf(other, definition).join("\n"), /^include needs a folder whose name can be part/);
  });
});
