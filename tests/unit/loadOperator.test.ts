import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { displayPath, type OperatorError } from "../../definition/problems";
import type { Operator } from "../../runtime/operator/definition";
import {
  addFiles,
  loadDefinition,
  problemsOf,
  widgetCrd,
  widgetDefinition,
  writeFolder,
} from "./operatorFolder";
import { command, granting, useWidgetFolder } from "./support/widgetFolder";

describe("loadOperator", () => {
  const widget = useWidgetFolder();

  it("fills in every default", () => {
    const { crd, ...operator } = loadDefinition(widget.folder, widgetDefinition);
    assert.deepStrictEqual(operator, {
      installation: "argosy",
      name: "widget",
      formerNames: [],
      folder: widget.folder,
      handler: widgetDefinition.handler,
      children: [{ apiVersion: "apps/v1", kind: "Deployment", update: "apply", plural: "deployments" }],
      execution: "resident",
      concurrency: 64,
      timeoutSeconds: 30,
      resyncSeconds: 600,
      namespaces: "all",
      finalize: false,
      resources: {},
      env: {},
      secretEnv: {},
      record: "changes",
      rules: [],
      grants: [],
      uses: {},
      overridden: [],
      customResource: {
        group: "shop.example.com",
        version: "v1",
        kind: "Widget",
        plural: "widgets",
        namespaced: true,
      },
    });
    assert.deepStrictEqual(crd, widgetCrd());
  });

  it("notes a handler that need not be asked the same twice", () => {
    assert.equal(loadDefinition(widget.folder, { ...widgetDefinition, ask: "changed" }).ask, "changed");
    assert.equal(loadDefinition(widget.folder, { ...widgetDefinition, ask: "always" }).ask, undefined);
  });

  it("keeps what the author gives", () => {
    const given = {
      name: "other",
      formerNames: ["widget", "shop.other"],
      children: [{ apiVersion: "x.example.com/v1", kind: "Datum", update: "never", plural: "data" }],
      execution: "resident",
      concurrency: 128,
      timeoutSeconds: 3600,
      resyncSeconds: 10,
      namespaces: ["team-a"],
      finalize: true,
      resources: { requests: { cpu: "100m" }, limits: { memory: "1.5Gi" } },
      env: { LOG_LEVEL: "" },
      secretEnv: { TOKEN: { secret: "api", key: "token.txt" } },
      record: "failures",
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"], resourceNames: ["one"] }],
    };
    const operator = loadDefinition(widget.folder, { ...widgetDefinition, ...given });
    for (const [key, value] of Object.entries(given)) {
      assert.deepStrictEqual(operator[key as keyof Operator], value, key);
    }
  });

  it("keeps what the author gives to an operator with a pod for each run", () => {
    const given = { execution: "pod", resyncSeconds: 60, env: { TEMPLATE: "{ { $(HOME)" } };
    const { execution, resyncSeconds, env, concurrency } = loadDefinition(widget.folder, {
      ...widgetDefinition,
      ...given,
    });
    assert.deepStrictEqual({ execution, resyncSeconds, env }, given);
    assert.equal(concurrency, 32);
    const few = loadDefinition(widget.folder, { ...widgetDefinition, execution: "pod", concurrency: 2 });
    assert.equal(few.concurrency, 2);
  });

  it("names file, line and column, field and remedy", () => {
    const file = displayPath(path.join(widget.folder, "operator.yaml"));
    assert.throws(
      () => loadDefinition(widget.folder, { ...widgetDefinition, children: [{ apiVersion: "v1" }] }),
      {
        name: "OperatorError",
        message: `${file}:8:5: children[0].kind is missing. Name the kind as the manifest does, for example kind: Service.`,
      },
    );
  });

  it("accepts kinds in the short form and in the full form together", () => {
    const children = [
      "apps/v1/Deployment",
      "v1/Service",
      { apiVersion: "batch/v1", kind: "Job", update: "never" },
    ];
    const loaded = loadDefinition(widget.folder, { ...widgetDefinition, children }).children;
    assert.deepStrictEqual(loaded, [
      { apiVersion: "apps/v1", kind: "Deployment", update: "apply", plural: "deployments" },
      { apiVersion: "v1", kind: "Service", update: "apply", plural: "services" },
      { apiVersion: "batch/v1", kind: "Job", update: "never", plural: "jobs" },
    ]);
  });

  it("collects all problems, those of the CRD included", () => {
    addFiles(widget.folder, { "crd.yaml": widgetCrd({ scope: "Everywhere" }) });
    assert.throws(
      () =>
        loadDefinition(widget.folder, {
          ...widgetDefinition,
          concurrency: 0,
          timeoutSeconds: "30",
          nmae: "x",
        }),
      (error: OperatorError) => {
        const found = error.problems.map((problem) => problem.replace(/^.*\/|\. [A-Z].*$/g, ""));
        assert.deepStrictEqual(found, [
          "operator.yaml:10:1: concurrency is 0, outside of 1 to 128",
          'operator.yaml:11:1: timeoutSeconds must be a whole number, not the string "30"',
          "operator.yaml:12:1: nmae is not a known field",
          'crd.yaml:7:3: spec.scope is "Everywhere"',
        ]);
        return true;
      },
    );
  });

  it("suggests the field that a mistyped one meant", () => {
    assert.equal(
      widget.problemWith({ timeoutSecond: 3 }),
      "timeoutSecond is not a known field. Did you mean timeoutSeconds?",
    );
    const { children: childs, ...others } = widgetDefinition;
    assert.equal(
      problemsOf(widget.folder, { ...others, childs })[1],
      "childs is not a known field. Did you mean children?",
    );
    assert.match(widget.problemWith({ constructor: 3 }) ?? "", /^constructor is not a known field\. /);
    assert.match(
      widget.problemWith({ zzz: 1 }) ?? "",
      /^zzz is not a known field\. Known are: crd, watch, handler, /,
    );
    const handler = { ...widgetDefinition.handler, comand: [] };
    assert.equal(
      widget.problemWith({ handler }),
      "handler.comand is not a known field. Did you mean command?",
    );
  });

  it("misses each field that has no default", () => {
    const found = problemsOf(widget.folder, {}).map((problem) => problem.split(". ")[0]);
    assert.deepStrictEqual(found, ["crd is missing", "handler is missing", "children is missing"]);
  });

  it("takes the installation from the program", () => {
    assert.equal(
      loadDefinition(widget.folder, widgetDefinition, { installation: "shop" }).installation,
      "shop",
    );
    assert.throws(() => loadDefinition(widget.folder, widgetDefinition, { installation: "a.b" }), {
      message: /^the program: installation is "a.b", not a DNS label of at most 20 characters\. Use/,
    });
  });

  it("distinguishes a former name in another installation from one in its own", () => {
    const { formerNames } = loadDefinition(widget.folder, {
      ...widgetDefinition,
      formerNames: ["shop.widget"],
    });
    assert.deepStrictEqual(formerNames, ["shop.widget"]);
    const own = { ...widgetDefinition, formerNames: ["shop.widget"] };
    const [problem] = problemsOf(widget.folder, own, { installation: "shop" });
    assert.match(
      problem ?? "",
      /^formerNames\[0\] is "shop.widget", the operator's own name\. Leave it out\./,
    );
  });

  it("keeps a kind that is retired", () => {
    const children = [...widgetDefinition.children, { apiVersion: "v1", kind: "Service", retired: true }];
    const { children: loaded } = loadDefinition(widget.folder, { ...widgetDefinition, children });
    assert.deepStrictEqual(
      loaded.map(({ plural, retired }) => [plural, retired]),
      [
        ["deployments", undefined],
        ["services", true],
      ],
    );
  });

  it("reads what children may grant: rules, and existing roles as the right to bind them", () => {
    const rule = { apiGroups: ["batch"], resources: ["jobs"], verbs: ["get"] };
    const { grants } = loadDefinition(widget.folder, {
      ...widgetDefinition,
      ...granting("RoleBinding", rule, "ClusterRole/system:auth-delegator", "Role/reader"),
    });
    const bind = (resource: string, name: string) => ({
      apiGroups: ["rbac.authorization.k8s.io"],
      resources: [resource],
      verbs: ["bind"],
      resourceNames: [name],
    });
    assert.deepStrictEqual(grants, [
      rule,
      bind("clusterroles", "system:auth-delegator"),
      bind("roles", "reader"),
    ]);
  });

  describe("schedules", () => {
    const problem = (schedule: object, name = "nightly") =>
      widget.problemWith({ schedules: { [name]: schedule } });

    it("have a time zone and a spread unless they give them", () => {
      const operator = loadDefinition(widget.folder, {
        ...widgetDefinition,
        schedules: { nightly: { cron: "0 3 * * *" } },
      });
      assert.deepEqual(operator.schedules, {
        nightly: { cron: "0 3 * * *", timeZone: "UTC", spreadSeconds: 60 },
      });
    });

    it("are refused if they cannot be understood, or never come", () => {
      assert.match(problem({}) ?? "", /^schedules\.nightly\.cron is missing\. Write five fields/);
      assert.match(
        problem({ cron: "0 0 31 2 *" }) ?? "",
        /^schedules\.nightly\.cron never comes: .* day 31\. Write/,
      );
      assert.match(
        problem({ cron: "@daily" }) ?? "",
        /^schedules\.nightly\.cron has one field, not the five/,
      );
      assert.match(problem({ cron: "0 0 L * *" }) ?? "", /cron has "L" as the day of the month/);
      assert.match(
        problem({ cron: "0 3 * * *", timeZone: "Mars/Olympus" }) ?? "",
        /^schedules\.nightly\.timeZone is "Mars\/Olympus", which is not a known time zone\. Use a name/,
      );
      assert.match(
        problem({ cron: "0 3 * * *", timezone: "UTC" }) ?? "",
        /timezone .* Did you mean timeZone/,
      );
      assert.match(
        problem({ cron: "0 3 * * *", spreadSeconds: 1e6 }) ?? "",
        /spreadSeconds is 1000000, outside/,
      );
      assert.match(problem({ cron: "0 3 * * *" }, "Every night") ?? "", /not the name of a schedule/);
    });
  });

  it("refuses guards, which are the program's", () => {
    assert.match(
      widget.problemWith({ guards: { children: true } }) ?? "",
      /^guards is not a field of a definition\. Guards belong to the program: new Operators\(name, \{ guards: /,
    );
  });

  it("reads a file as a function, in the image of its language or in another", () => {
    const source = "def reconcile(request): ...\ndef finalize(request): ...\n";
    const script = "export const reconcile = () => {}, finalize = () => {};\n";
    addFiles(widget.folder, { "main.py": source, "main.js": script, "lib/main.ts": script });
    const handlerOf = (fields: object) =>
      loadDefinition(widget.folder, { ...widgetDefinition, ...fields }).handler;
    for (const [file, image] of [
      ["main.py", "python:3.13-slim"],
      ["main.js", "node:22-slim"],
      ["lib/main.ts", "node:22-slim"],
    ]) {
      assert.deepStrictEqual(handlerOf({ handler: file, finalize: true }), { image, function: file });
    }
    const other = handlerOf({ handler: "main.py", image: "python:3.12" });
    assert.deepStrictEqual(other, { image: "python:3.12", function: "main.py" });
  });

  it("refuses a function's file that is missing, elsewhere, or without its functions", () => {
    addFiles(widget.folder, { "main.py": "def reconcile(request): ...\n", "other.py": "print()\n" });
    for (const [fields, problem] of [
      [{ handler: "not.py" }, 'handler "not.py" is missing. Create it, or correct the name.'],
      [{ handler: "a/../../b.py" }, `handler "a/../../b.py" is outside of the operator's folder.`],
      [
        { handler: "main.rb" },
        `handler is "main.rb", not a file in Python, JavaScript or TypeScript in the operator's folder, with a name of letters, digits, "_", "-" and ".". Name the file that defines reconcile(request), for example handler: main.py. For another language, give an image and a command:`,
      ],
      [
        { handler: "../b/main.py" },
        `handler is "../b/main.py", not a file in Python, JavaScript or TypeScript in the operator's folder, with a name of letters, digits, "_", "-" and ".". Name`,
      ],
      [
        { handler: "my handler.py" },
        `handler is "my handler.py", not a file in Python, JavaScript or TypeScript in the operator's folder, with a name of letters, digits, "_", "-" and ".". Name`,
      ],
      [
        { handler: "other.py" },
        'handler "other.py" has no function reconcile(request). Define it: def reconcile',
      ],
      [
        { handler: "main.py", finalize: true },
        'handler "main.py" has no function finalize(request). Define it',
      ],
      [{ handler: "main.py", image: "python" }, 'image is "python", without a tag or a digest'],
      [
        { image: "python:3.13" },
        "image is for a function. Give the image in handler, together with command.",
      ],
    ] as const) {
      const found = widget.problemWith(fields) ?? "nothing was refused";
      assert.ok(found.startsWith(problem), found);
    }
  });

  it("refuses a folder whose name cannot be the operator's", () => {
    widget.root = writeFolder({ "My_Widget/crd.yaml": widgetCrd(), "My_Widget/main.py": "" });
    widget.folder = path.join(widget.root, "My_Widget");
    assert.match(
      problemsOf(widget.folder, widgetDefinition)[0] ?? "",
      /^name \(of the folder\) is "My_Widget", not a DNS label/,
    );
    assert.deepStrictEqual(problemsOf(widget.folder, { ...widgetDefinition, name: "widget" }), []);
  });

  it("refuses a handler file that is a folder", () => {
    mkdirSync(path.join(widget.folder, "bin.d"));
    assert.match(
      widget.problemWith(command("python3", "bin.d")) ?? "",
      /"bin.d" is not a file\. Name a file/,
    );
  });

  it("refuses a handler file that cannot be read", () => {
    const file = path.join(widget.folder, "main.py");
    rmSync(file);
    // Not by its mode: root may read everything.
    symlinkSync(file, file);
    assert.match(widget.problemWith({}) ?? "", /"main.py" cannot be read\. Name a file/);
  });
});
