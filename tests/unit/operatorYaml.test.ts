import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { loadOperator } from "../../definition/loadOperator";
import { OperatorError } from "../../definition/problems";
import { problemsIn, removeFolder, widgetCrd, writeFolder } from "./operatorFolder";
import { titleOf } from "./support/titles";

/** Line by line, so that the lines of problems can be counted. */
const DEFINITION = `crd: crd.yaml
handler:
  image: python:3.13-slim
  command: [python3, main.py]
children: [apps/v1/Deployment, v1/Service]
`;

describe("operator.yaml", () => {
  let folder: string;
  beforeEach(() => {
    folder = writeFolder({ "crd.yaml": widgetCrd(), "main.py": "" });
  });

  /** The problems of the definition, each from line and column on. */
  function problemsOf(text: string | Uint8Array): string[] {
    writeFileSync(path.join(folder, "operator.yaml"), text);
    return problemsIn(() => loadOperator(folder)).map((problem) => {
      assert.match(problem, /^[^:]*\/operator\.yaml:/);
      return problem.replace(/^[^:]*:\s*/, "");
    });
  }

  it("is in order", () => assert.deepStrictEqual(problemsOf(`${DEFINITION}name: widget\n`), []));

  const wrong: [text: string, problem: RegExp, ...others: RegExp[]][] = [
    [`name: a\n${DEFINITION}crd: crd.yaml\n`, /^7:1: the file is not YAML: Map keys must be unique\. Co/],
    [`name: a\n${DEFINITION}env:\n\tA: b\n`, /^8:1: the file is not YAML: Tabs are not allowed/],
    ["children: [\n", /^2:1: the file is not YAML: /],
    ["name: a: b\n", /^1:7: the file is not YAML: /],
    ["", /^the file is empty\. Write crd, handler and children\./],
    ["# yaml-language-server: $schema=x\n", /^the file is empty\. /],
    ["~\n", /^the file is empty\. /],
    ["- crd: crd.yaml\n", /^1:1: the file has no object in it\. Write crd, handler and children\./],
    ["crd\n", /^1:1: the file has no object in it\. /],
    [`name: a\n${DEFINITION}---\nname: b\n`, /^8:1: the file has 2 documents\. Keep one definition in it\./],
    [`name: !mine a\n${DEFINITION}`, /^1:7: the file is not YAML: Unresolved tag: !mine\. /],
    [
      `name: *a\n${DEFINITION}`,
      /^1:1: the file cannot be read: Unresolved alias .*: a\. Write it without aliases\./,
    ],
    [
      `name: a\n<<: { finalize: true }\n${DEFINITION}`,
      /^2:1: << is a merge key, which YAML 1.2 does not have\. Write the fields out\./,
    ],
    [`name: a\n${DEFINITION}resources: { <<: { limits: { memory: 1Gi } } }\n`, /^7:14: << is a merge key/],
    [
      `name: a\n${DEFINITION}on: { schedule: daily }\n`,
      /^7:7: on\.schedule must be an object, not the string "daily"\. Write a source, and create with id, or wake\./,
    ],
    [
      `name: 1.20\n${DEFINITION}`,
      /^1:1: name must be a string, not the number 1\.2: write it in quotes\. Use at most 40/,
    ],
    [
      `name: a\n${DEFINITION}env:\n  DEBUG: true\n`,
      /^8:3: env\.DEBUG must be a string, not true: write it in quotes\. /,
    ],
    [`name:\n${DEFINITION}`, /^1:1: name has no value\. Use at most 40/],
    [
      `name: a\nfinalize: yes\n${DEFINITION}`,
      /^2:11: yes is read as true by kubectl, Helm and Argo CD, and not by Argosy\. Write true, or put/,
    ],
    [`name: a\n1: b\n${DEFINITION}`, /^2:1: 1 is not a known field\. Known are: crd, watch, handler/],
    [`name: a\n? [crd]\n: b\n${DEFINITION}`, /^1:1: \[ crd \] is not a known field\. /],
    [`name: a\n${DEFINITION}env:\n  __proto__: a\n`, /^8:3: env\.__proto__ cannot be the name of a field\. /],
    [
      `name: a\ntimeoutSeconds: .inf\n${DEFINITION}`,
      /^1:1: the file contains a number that JSON cannot represent\. Write it as JSON/,
    ],
    [`name: a\n\uFEFF${DEFINITION}`, /^3:1: crd is missing|^1:1: crd is missing/, /is not a known field/],
    [
      `name: a\n${DEFINITION.replace("[apps/v1/Deployment, v1/Service]", "\n  - apps/v1/Deployment\n  - apiVersion: v1\n    knd: Service")}`,
      /^8:5: children\[1\]\.kind is missing\. /,
      /^9:5: children\[1\]\.knd is not a known field\. Did you mean kind\?/,
    ],
    ...(
      [
        ["{}", /^9:5: children\[0\]\.ready has neither condition nor field\. Write, for/],
        [
          "{ condition: Synced, field: status.phase, in: [Bound] }",
          /^9:33: children\[0\]\.ready\.field is given together with condition\. Keep one of the two\./,
        ],
        [
          '{ condition: Synced, in: ["True"] }',
          /^9:33: children\[0\]\.ready\.in is given together with condition\. A condition counts when it is True: leave in out\./,
        ],
        [
          "{ field: status.phase }",
          /^9:5: children\[0\]\.ready\.in is missing\. List the values that mean ready/,
        ],
        [
          "{ field: status.phase, in: [] }",
          /^9:35: children\[0\]\.ready\.in is empty\. List the values that mean ready, for example in: \[Bound\]\./,
        ],
        [
          "{ field: status.phase, in: [[Bound]] }",
          /^9:40: children\[0\]\.ready\.in\[0\] must be a text, a whole number, true or false, not a list\./,
        ],
        [
          "{ field: phase, in: [Bound] }",
          /^9:14: children\[0\]\.ready\.field is "phase", not the path of a field in the status\. .* field: status\.phase\. A path/,
        ],
        [
          "{ field: 'status.conditions[0].status', in: ['True'] }",
          /^9:14: children\[0\]\.ready\.field is "status\.conditions\[0\]\.status", not the path of a field/,
        ],
        [
          "{ condition: self.status.ready == true }",
          /^9:14: children\[0\]\.ready\.condition is "self\.status\.ready == true", not the type of a condition\. Write/,
        ],
        [
          "Synced",
          /^9:5: children\[0\]\.ready must be an object, not the string "Synced"\. Write, for example, ready: /,
        ],
        [
          "{ condition: Ready, fields: status.phase }",
          /^9:32: children\[0\]\.ready\.fields is not a known field\. Did you mean field\?/,
        ],
      ] as const
    ).map(([rule, expected]): [string, RegExp] => [
      `name: a\n${DEFINITION.replace(/children: .*/, `children:\n  - apiVersion: v1\n    kind: Claim\n    ready: ${rule}`)}`,
      expected,
    ]),
    [
      `name: a\n${DEFINITION.replace("3.13-slim", "latest")}env: { A: b, "C-D": e }\n`,
      /^4:3: handler\.image is "python:latest", and "latest" is a different image every time\. Pin/,
      /^7:14: env\.C-D is "C-D", not the name of an environment variable\. /,
    ],
  ];
  for (const [text, ...expected] of wrong) {
    it(`is refused: ${titleOf(expected[0])}`, () => {
      const problems = problemsOf(text);
      assert.equal(problems.length, expected.length, problems.join("\n"));
      for (const [index, pattern] of expected.entries()) assert.match(problems[index] ?? "", pattern);
    });
  }

  it("may not grow without bound by its aliases, nor hold itself", () => {
    const bomb = Array.from({ length: 9 }, (_, level) => {
      const below = level === 0 ? "lol" : `*a${level - 1}`;
      return `a${level}: &a${level} [${Array(10).fill(below).join(", ")}]`;
    }).join("\n");
    assert.match(
      problemsOf(bomb)[0] ?? "",
      /^1:1: the file cannot be read: Excessive alias count .*\. Write it without aliases\./,
    );
    assert.match(
      problemsOf("env: &a\n  b: *a\n")[0] ?? "",
      /^1:1: the file is nested more than 500 levels deep\. /,
    );
  });

  it("may not be nested without bound", () => {
    for (const open of ["[", "{a: ", "- ", "? ", "!a [", "[&a "]) {
      for (const close of ["", "]".repeat(50_000)]) {
        const [problem] = problemsOf(`env:\n  ${open.repeat(50_000)}${close}`);
        assert.equal(problem, "the file is nested more than 500 levels deep. Write it in fewer levels.");
      }
    }
  });

  it("may repeat itself by an alias, and a wrong alias is reported", () => {
    assert.deepStrictEqual(problemsOf(`name: &n a\nformerNames: [b]\nenv: { A: *n }\n${DEFINITION}`), []);
    assert.deepStrictEqual(problemsOf(`name: &n a\nformerNames: [*n]\n${DEFINITION}`), [
      `2:15: formerNames[0] is "a", the operator's own name. Leave it out.`,
    ]);
  });

  it("may begin with a byte order mark, and have Windows' ends of lines", () => {
    const text = `\uFEFFname: a\nimage: a:1\n${DEFINITION}`.replaceAll("\n", "\r\n");
    assert.deepStrictEqual(problemsOf(text), [
      "2:1: image is for a function. Give the image in handler, together with command.",
    ]);
  });

  it("is UTF-8", () => {
    for (const encoding of ["latin1", "utf16le"] as const) {
      const text = Buffer.from(`\uFEFFname: a # größe\n${DEFINITION}`, encoding);
      assert.deepStrictEqual(problemsOf(text), [
        "the file is not UTF-8. Save it in that encoding, as every editor can.",
      ]);
    }
  });

  it("is YAML 1.2 whatever it says of itself", () => {
    assert.match(
      problemsOf(`%YAML 1.1\n---\nname: a\nfinalize: on\n${DEFINITION}`)[0] ?? "",
      /^4:11: on is read as true by kubectl, Helm and Argo CD, and not by Argosy\. Write true, or put/,
    );
  });

  it("is a file", () => {
    const file = path.join(folder, "operator.yaml");
    const problem = () => {
      assert.throws(() => loadOperator(folder), OperatorError);
      try {
        return String(loadOperator(folder));
      } catch (error) {
        return (error as Error).message.replace(/^[^:]*: /, "");
      }
    };
    assert.equal(problem(), "the file is missing. Write crd, handler and children.");
    mkdirSync(file);
    assert.equal(problem(), "it is not a file. Give a file that can be read.");
    removeFolder(file);
    execFileSync("mkfifo", [file]);
    assert.equal(problem(), "it is not a file. Give a file that can be read.");
    removeFolder(file);
    symlinkSync("operator.yaml", file);
    assert.match(problem(), /^the file cannot be read: ELOOP/);
  });

  it("is not changed by being read", () => {
    const text = `name: a\n${DEFINITION}`;
    problemsOf(text);
    assert.equal(readFileSync(path.join(folder, "operator.yaml"), "utf8"), text);
  });
});
