import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { displayPath, type OperatorError } from "../../definition/problems";
import type { Operator } from "../../runtime/definition/definition";
import {
  addFiles,
  loadDefinition,
  problemsOf,
  removeFolder,
  widgetCrd,
  widgetDefinition,
  writeFolder,
} from "./operatorFolder";

describe("loadOperator", () => {
  let root: string;
  let folder: string;

  beforeEach(() => {
    root = writeFolder({ "widget/crd.yaml": widgetCrd(), "widget/main.py": "" });
    folder = path.join(root, "widget");
  });
  afterEach(() => removeFolder(root));

  /** The only problem of the valid definition with these fields changed. */
  function problemWith(fields: object): string | undefined {
    const problems = problemsOf(folder, { ...widgetDefinition, ...fields });
    assert.ok(problems.length <= 1, problems.join("\n"));
    return problems[0];
  }

  it("fills in every default", () => {
    const { crd, ...operator } = loadDefinition(folder, widgetDefinition);
    assert.deepStrictEqual(operator, {
      installation: "argosy",
      name: "widget",
      formerNames: [],
      folder,
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
    const operator = loadDefinition(folder, { ...widgetDefinition, ...given });
    for (const [key, value] of Object.entries(given)) {
      assert.deepStrictEqual(operator[key as keyof Operator], value, key);
    }
  });

  it("keeps what the author gives to an operator with a pod for each run", () => {
    const given = { execution: "pod", resyncSeconds: 60, env: { TEMPLATE: "{ { $(HOME)" } };
    const { execution, resyncSeconds, env, concurrency } = loadDefinition(folder, {
      ...widgetDefinition,
      ...given,
    });
    assert.deepStrictEqual({ execution, resyncSeconds, env }, given);
    assert.equal(concurrency, 32);
    const few = loadDefinition(folder, { ...widgetDefinition, execution: "pod", concurrency: 2 });
    assert.equal(few.concurrency, 2);
  });

  it("names file, line and column, field and remedy", () => {
    const file = displayPath(path.join(folder, "operator.yaml"));
    assert.throws(() => loadDefinition(folder, { ...widgetDefinition, children: [{ apiVersion: "v1" }] }), {
      name: "OperatorError",
      message: `${file}:8:5: children[0].kind is missing. Name the kind as the manifest does, for example kind: Service.`,
    });
  });

  it("takes kinds in short, beside those in full", () => {
    const children = [
      "apps/v1/Deployment",
      "v1/Service",
      { apiVersion: "batch/v1", kind: "Job", update: "never" },
    ];
    const loaded = loadDefinition(folder, { ...widgetDefinition, children }).children;
    assert.deepStrictEqual(loaded, [
      { apiVersion: "apps/v1", kind: "Deployment", update: "apply", plural: "deployments" },
      { apiVersion: "v1", kind: "Service", update: "apply", plural: "services" },
      { apiVersion: "batch/v1", kind: "Job", update: "never", plural: "jobs" },
    ]);
  });

  it("collects all problems, those of the CRD included", () => {
    addFiles(folder, { "crd.yaml": widgetCrd({ scope: "Everywhere" }) });
    assert.throws(
      () => loadDefinition(folder, { ...widgetDefinition, concurrency: 0, timeoutSeconds: "30", nmae: "x" }),
      (error: OperatorError) => {
        const found = error.problems.map((problem) => problem.replace(/^.*\/|\. [A-Z].*$/g, ""));
        assert.deepStrictEqual(found, [
          "operator.yaml:10:1: concurrency is 0, outside of 1 to 128",
          'operator.yaml:11:1: timeoutSeconds must be a whole number, not the text "30"',
          "operator.yaml:12:1: nmae is not a known field",
          'crd.yaml:7:3: spec.scope is "Everywhere"',
        ]);
        return true;
      },
    );
  });

  it("suggests the field that a mistyped one meant", () => {
    assert.equal(
      problemWith({ timeoutSecond: 3 }),
      "timeoutSecond is not a known field. Did you mean timeoutSeconds?",
    );
    const { children: childs, ...others } = widgetDefinition;
    assert.equal(
      problemsOf(folder, { ...others, childs })[1],
      "childs is not a known field. Did you mean children?",
    );
    assert.match(problemWith({ constructor: 3 }) ?? "", /^constructor is not a known field\. /);
    assert.match(
      problemWith({ zzz: 1 }) ?? "",
      /^zzz is not a known field\. Known are: crd, watch, handler, /,
    );
    const handler = { ...widgetDefinition.handler, comand: [] };
    assert.equal(problemWith({ handler }), "handler.comand is not a known field. Did you mean command?");
  });

  it("misses each field that has no default", () => {
    const found = problemsOf(folder, {}).map((problem) => problem.split(". ")[0]);
    assert.deepStrictEqual(found, ["crd is missing", "handler is missing", "children is missing"]);
  });

  it("takes the installation from the program", () => {
    assert.equal(loadDefinition(folder, widgetDefinition, { installation: "shop" }).installation, "shop");
    assert.throws(() => loadDefinition(folder, widgetDefinition, { installation: "a.b" }), {
      message: /^the program: installation is "a.b", not a DNS label of at most 20 characters\. Use/,
    });
  });

  it("takes a former name in another installation for another than the own one", () => {
    const { formerNames } = loadDefinition(folder, { ...widgetDefinition, formerNames: ["shop.widget"] });
    assert.deepStrictEqual(formerNames, ["shop.widget"]);
    const own = { ...widgetDefinition, formerNames: ["shop.widget"] };
    const [problem] = problemsOf(folder, own, { installation: "shop" });
    assert.match(
      problem ?? "",
      /^formerNames\[0\] is "shop.widget", the operator's own name\. Leave it out\./,
    );
  });

  it("keeps a kind that is retired", () => {
    const children = [...widgetDefinition.children, { apiVersion: "v1", kind: "Service", retired: true }];
    const { children: loaded } = loadDefinition(folder, { ...widgetDefinition, children });
    assert.deepStrictEqual(
      loaded.map(({ plural, retired }) => [plural, retired]),
      [
        ["deployments", undefined],
        ["services", true],
      ],
    );
  });

  it("takes what children may grant: rules, and roles that are there by the right to bind them", () => {
    const rule = { apiGroups: ["batch"], resources: ["jobs"], verbs: ["get"] };
    const { grants } = loadDefinition(folder, {
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

  const granting = (kind: string, ...grants: unknown[]) => ({
    children: [{ apiVersion: "rbac.authorization.k8s.io/v1", kind }],
    grants,
  });
  const image = (name: unknown) => ({ handler: { ...widgetDefinition.handler, image: name } });
  const command = (...words: unknown[]) => ({ handler: { ...widgetDefinition.handler, command: words } });
  const child = (fields: object) => ({
    children: [{ apiVersion: "apps/v1", kind: "Deployment", ...fields }],
  });
  const rule = (fields: object) => ({
    rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"], ...fields }],
  });

  const refused: [string, object, RegExp][] = [
    [
      "a number for the CRD",
      { crd: 3 },
      /^crd must be a text, not the number 3: write it in quotes\. Give the path/,
    ],
    ["an empty path for the CRD", { crd: "" }, /^crd is empty\. /],
    ["a list for the handler", { handler: [] }, /^handler must be a text or an object, not a list\. /],
    ["an image without tag", image("python"), /^handler.image is "python", without a tag or a digest\. Pin/],
    ["a port that is no tag", image("localhost:5000/python"), /without a tag or a digest/],
    ["the tag latest", image("python:latest"), /^handler.image is "python:latest", and .* Pin the image/],
    ["an image with a space", image("python :3"), /^handler.image is "python :3", which no image is called/],
    ["an empty command", command(), /^handler.command is empty\. Give program and arguments/],
    [
      "a command that is a text",
      { handler: { image: "a:1", command: "x" } },
      /must be a list, not the text "x"/,
    ],
    [
      "a number in a command",
      command("python3", 3),
      /^handler.command\[1\] must be a text, not the number 3: write it in quotes\. /,
    ],
    [
      "a missing handler file",
      command("python3", "mian.py"),
      /^handler.command\[1\] "mian.py" is missing\. Create/,
    ],
    ["a missing program of the folder", command("./run"), /^handler.command\[0\] ".\/run" is missing\. /],
    [
      "a file outside of the folder",
      command("python3", "../x.py"),
      /is outside of the operator's folder\. Put/,
    ],
    ["former names that are no list", { formerNames: "cache" }, /^formerNames must be a list, not the text/],
    [
      "a former name in capitals",
      { formerNames: ["Cache"] },
      /^formerNames\[0\] is "Cache", which no operator can have been called\. Give a name/,
    ],
    ["a former name of 41 characters", { formerNames: ["a".repeat(41)] }, /can have been called/],
    ["a former name with two dots", { formerNames: ["a.b.c"] }, /can have been called/],
    [
      "a former name of an installation of 21 characters",
      { formerNames: [`${"a".repeat(21)}.cache`] },
      /can have been called/,
    ],
    [
      "the own name as a former one",
      { formerNames: ["widget"] },
      /^formerNames\[0\] is "widget", the operator's own name\. Leave it out\./,
    ],
    [
      "a former name given twice",
      { formerNames: ["cache", "argosy.cache"] },
      /^formerNames\[1\] is "argosy.cache", as is formerNames\[0\]\. Keep one of the two\./,
    ],
    [
      "an update policy of a retired kind",
      child({ retired: true, update: "never" }),
      /^children\[0\]\.update is given for a retired kind, which is only deleted\. Leave it out\./,
    ],
    ["a text for retired", child({ retired: "yes" }), /^children\[0\]\.retired must be true or false/],
    ["children that are no list", { children: {} }, /^children must be a list, not an object\. /],
    [
      "a kind in short without its version",
      { children: ["Deployment"] },
      /^children\[0\] is "Deployment", not a group, a version and a kind\. Write, for example, apps\/v1\/Dep/,
    ],
    [
      "a kind in short with blanks",
      { children: ["apps / v1 / Deployment"] },
      /^children\[0\] is "apps \/ v1 \/ Deployment", not a group/,
    ],
    ["a list for a child", { children: [["v1"]] }, /^children\[0\] must be a text or an object, not a list/],
    [
      "a kind twice, in short and in full",
      { children: ["v1/Service", { apiVersion: "v1", kind: "Service" }] },
      /^children\[1\] is the same kind as children\[0\]: Service\. Keep one/,
    ],
    [
      "a kind in short of a group that has it not",
      { children: ["v1/Deployment"] },
      /^children\[0\].apiVersion is "v1", which has no Deployment\./,
    ],
    [
      "an apiVersion without version",
      child({ apiVersion: "apps" }),
      /^children\[0\].apiVersion is "apps", not/,
    ],
    [
      "a kind in lower case",
      child({ kind: "deployment" }),
      /^children\[0\].kind is "deployment", not a kind\. /,
    ],
    [
      "an unknown update policy",
      child({ update: "replace" }),
      /is "replace", not one of "apply", "recreate", "never"/,
    ],
    [
      "a plural in capitals",
      child({ plural: "Data" }),
      /^children\[0\].plural is "Data", not the lower-case/,
    ],
    [
      "a kind of Kubernetes' own in a group that has it not",
      child({ apiVersion: "v1" }),
      /^children\[0\].apiVersion is "v1", which has no Deployment\. Kubernetes has it in "apps\/…"\./,
    ],
    [
      "a kind that is nearly one of Kubernetes' own",
      child({ kind: "Deploymnt" }),
      /^children\[0\].kind is "Deploymnt", which apps\/v1 does not have\. Did you mean Deployment\?/,
    ],
    [
      "a kind in the wrong letters",
      child({ apiVersion: "v1", kind: "Configmap" }),
      /^children\[0\].kind is "Configmap", which v1 does not have\. Did you mean ConfigMap\?/,
    ],
    [
      "a plural that is not the kind's",
      child({ plural: "deployment" }),
      /^children\[0\].plural is "deployment", and that of Deployment is "deployments"\. Leave it out/,
    ],
    [
      "a kind twice, if in two versions",
      { children: [...widgetDefinition.children, { apiVersion: "apps/v1beta1", kind: "Deployment" }] },
      /^children\[1\] is the same kind as children\[0\]: Deployment\. Keep one/,
    ],
    [
      "the operator's own kind as a child",
      { children: [{ apiVersion: "shop.example.com/v2", kind: "Widget" }] },
      /^children\[0\] is Widget, the operator's own kind\. Leave it out/,
    ],
    [
      "a child of cluster scope with a list of namespaces",
      { children: [{ apiVersion: "v1", kind: "Namespace" }], namespaces: ["a"] },
      /^children\[0\] is Namespace, which is in no namespace\. Leave it out, or write namespaces: all/,
    ],
    [
      "a name in capitals",
      { name: "Widget" },
      /^name is "Widget", not a DNS label of at most 40 characters that begins with a letter\. Use/,
    ],
    ["a name with a dot", { name: "a.b" }, /^name is "a.b", not a DNS label/],
    ["a name of 41 characters", { name: "a".repeat(41) }, /not a DNS label of at most 40 characters/],
    ["a name that begins with a digit", { name: "3d" }, /^name is "3d", not a DNS label .* a letter\. Use/],
    [
      "record with a pod for each run",
      { execution: "pod", record: "changes" },
      /^record has no meaning with execution: pod: .*\. Leave it out\.$/,
    ],
    [
      "a resync more often than cron knows",
      { execution: "pod", resyncSeconds: 59 },
      /^resyncSeconds is 59, less than the minute .*\. Give at least 60, or/,
    ],
    [
      "a variable's value that Argo would change",
      { execution: "pod", env: { GREETING: "{{name}}" } },
      /^env\.GREETING has "\{\{", which Argo .*\. Put it into a file/,
    ],
    [
      "a command that Argo would change",
      { execution: "pod", ...command("sh", "-c", "echo {{name}}") },
      /^handler\.command\[2\] has "\{\{", which Argo/,
    ],
    ["an unknown execution", { execution: "job" }, /^execution is "job", not one of "resident", "pod"\. /],
    ["concurrency beyond its range", { concurrency: 129 }, /^concurrency is 129, outside of 1 to 128\. /],
    [
      "half a second",
      { timeoutSeconds: 0.5 },
      /^timeoutSeconds must be a whole number, not the number 0.5\. /,
    ],
    [
      "a timeout beyond its range",
      { timeoutSeconds: 3601 },
      /^timeoutSeconds is 3601, outside of 1 to 3600\. /,
    ],
    ["a resync below its range", { resyncSeconds: 9 }, /^resyncSeconds is 9, outside of 10 to 86400\. /],
    ["an empty list of namespaces", { namespaces: [] }, /^namespaces is empty\. Write all or a list/],
    [
      "a text for namespaces",
      { namespaces: "team-a" },
      /^namespaces is "team-a", not "all" and no list\. Write/,
    ],
    [
      "a namespace in capitals",
      { namespaces: ["A"] },
      /^namespaces\[0\] is "A", not the name of a namespace\. /,
    ],
    ["a text for finalize", { finalize: "yes" }, /^finalize must be true or false, not the text "yes"\. /],
    ["null for finalize", { finalize: null }, /^finalize has no value\. Leave it out for false\./],
    [
      "a number for a quantity",
      { resources: { limits: { cpu: 1 } } },
      /^resources.limits.cpu must be a text, not the number 1: write it in quotes\. /,
    ],
    ["a quantity of its own", { resources: { limits: { memory: "1GB" } } }, /is "1GB", not a quantity\. /],
    [
      "a number in env",
      { env: { PORT: 80 } },
      /^env.PORT must be a text, not the number 80: write it in quotes\. /,
    ],
    [
      "a variable with a dash",
      { env: { "LOG-LEVEL": "" } },
      /^env.LOG-LEVEL is "LOG-LEVEL", not the name of an/,
    ],
    [
      "half a reference to a Secret",
      { secretEnv: { A: { secret: "api" } } },
      /^secretEnv.A.key is missing\. /,
    ],
    [
      "a variable in env and secretEnv",
      { env: { A: "" }, secretEnv: { A: { secret: "api", key: "a" } } },
      /^secretEnv.A is in env as well\. Keep one/,
    ],
    [
      "an unknown record",
      { record: "none" },
      /^record is "none", not one of "changes", "all", "failures"\. /,
    ],
    [
      "a wildcard group",
      rule({ apiGroups: ["*"] }),
      /^rules\[0\].apiGroups\[0\] is "\*", a wildcard\. Name each/,
    ],
    [
      "a wildcard resource",
      rule({ resources: ["pods/*"] }),
      /^rules\[0\].resources\[0\] is "pods\/\*", a wildcard/,
    ],
    ["a wildcard verb", rule({ verbs: ["*"] }), /^rules\[0\].verbs\[0\] is "\*", a wildcard/],
    [
      "the verb escalate",
      rule({ verbs: ["escalate"] }),
      /^rules\[0\].verbs\[0\] is "escalate", with which every/,
    ],
    ["the verb bind", rule({ verbs: ["get", "bind"] }), /^rules\[0\].verbs\[1\] is "bind", with which every/],
    ["the verb impersonate", rule({ verbs: ["impersonate"] }), /is "impersonate", with which every/],
    ["a rule without verbs", rule({ verbs: [] }), /^rules\[0\].verbs is empty\. /],
    ...["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"].map((kind): [string, object, RegExp] => [
      `a ${kind} among the children that may grant nothing`,
      granting(kind),
      new RegExp(
        `^children\\[0\\] is ${kind}, and "grants" does not say what it may grant\\. Declare that, for example grants: `,
      ),
    ]),
    [
      "grants of an operator whose children grant nothing",
      { grants: ["ClusterRole/view"] },
      /^grants is given, and no kind of children is one of Role, .*\. Leave it out, or add the kind/,
    ],
    [
      "grants where the kind that grants is retired",
      { ...granting("Role", "Role/a"), children: [{ ...granting("Role").children[0], retired: true }] },
      /^grants is given, and no kind of children/,
    ],
    [
      "a role to bind without a kind that binds",
      granting("Role", "ClusterRole/view"),
      /^grants\[0\] is a role that is there, and children has no RoleBinding and no ClusterRoleBinding to refer to it\. Leave/,
    ],
    [
      "a Role to bind in the whole cluster",
      granting("ClusterRoleBinding", "Role/reader"),
      /^grants\[0\] is a role that is there, and children has no RoleBinding to refer/,
    ],
    [
      "the grant of everything",
      granting("ClusterRoleBinding", "ClusterRole/cluster-admin"),
      /^grants\[0\] is the role cluster-admin, with which every other right can be had\. Name a role with less/,
    ],
    [
      "the grant of a role without its kind",
      granting("RoleBinding", "view"),
      /^grants\[0\] is "view", not Role or ClusterRole with a name\. Write a rule/,
    ],
    [
      "the grant of any role",
      granting("RoleBinding", "ClusterRole/*"),
      /^grants\[0\] is "ClusterRole\/\*", not/,
    ],
    [
      "the grant of a wildcard",
      granting("Role", { apiGroups: [""], resources: ["*"], verbs: ["get"] }),
      /^grants\[0\].resources\[0\] is "\*", a wildcard/,
    ],
    [
      "the grant of the verb escalate",
      granting("Role", { apiGroups: [""], resources: ["roles"], verbs: ["escalate"] }),
      /^grants\[0\].verbs\[0\] is "escalate", with which every/,
    ],
    [
      "the grant of the verb bind by a rule of any name",
      granting("Role", { apiGroups: [""], resources: ["roles"], verbs: ["bind"] }),
      /^grants\[0\].verbs\[0\] is "bind", with which every/,
    ],
    [
      "a number to grant",
      granting("Role", 3),
      /^grants\[0\] must be a text or an object, not the number 3\. Write/,
    ],
    [
      "grants that are no list",
      { ...granting("Role"), grants: {} },
      /^grants must be a list, not an object\. /,
    ],
  ];
  for (const [what, fields, expected] of refused) {
    it(`refuses ${what}`, () => assert.match(problemWith(fields) ?? "nothing was refused", expected));
  }

  describe("schedules", () => {
    const problem = (schedule: object, name = "nightly") => problemWith({ schedules: { [name]: schedule } });

    it("have a time zone and a spread unless they give them", () => {
      const operator = loadDefinition(folder, {
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
        /^schedules\.nightly\.timeZone is "Mars\/Olympus", which is no time zone that is known here\. Name/,
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
      problemWith({ guards: { children: true } }) ?? "",
      /^guards is no field of a definition\. Guards are of the program: new Operators\(name, \{ guards: /,
    );
  });

  it("takes a file for a function, in the image of its language or in another", () => {
    const source = "def reconcile(request): ...\ndef finalize(request): ...\n";
    const script = "export const reconcile = () => {}, finalize = () => {};\n";
    addFiles(folder, { "main.py": source, "main.js": script, "lib/main.ts": script });
    const handlerOf = (fields: object) => loadDefinition(folder, { ...widgetDefinition, ...fields }).handler;
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
    addFiles(folder, { "main.py": "def reconcile(request): ...\n", "other.py": "print()\n" });
    for (const [fields, problem] of [
      [{ handler: "not.py" }, 'handler "not.py" is missing. Create it, or correct the name.'],
      [{ handler: "a/../../b.py" }, `handler "a/../../b.py" is outside of the operator's folder.`],
      [{ handler: "main.rb" }, 'handler is "main.rb", not a file in Python, JavaScript or TypeScript.'],
      [
        { handler: "other.py" },
        'handler "other.py" has no function reconcile(request). Define it: def reconcile',
      ],
      [
        { handler: "main.py", finalize: true },
        'handler "main.py" has no function finalize(request). Define it',
      ],
      [{ handler: "main.py", image: "python" }, 'image is "python", without a tag or a digest'],
      [{ image: "python:3.13" }, "image is for a function. Put it into handler, beside its command."],
    ] as const) {
      const found = problemWith(fields) ?? "nothing was refused";
      assert.ok(found.startsWith(problem), found);
    }
  });

  const accepted: [string, object][] = [
    ["a digest without tag", image(`python@sha256:${"0".repeat(64)}`)],
    ["a registry's port beside a tag", image("localhost:5000/team/python:3.13")],
    ["a module of Python's, which is no file", command("python3", "-m", "http.server")],
    [
      "options and URLs with dots",
      command("node20", "--host=a.example", "-v1.b", "https://a.example/b.c", "2.5"),
    ],
    ["an absolute path, which is in the image", command("/usr/bin/python3", "main.py", "/etc/app.conf")],
    ["a name of 40 characters", { name: "a".repeat(40) }],
    ["braces where Argo does not read them", { env: { A: "{{b}}" }, ...command("sh", "-c", "{{b}}") }],
    ["no children at all", { children: [] }],
    [
      "another group's kind of a known name",
      { children: [{ apiVersion: "serving.example.com/v1", kind: "Service" }] },
    ],
    [
      "a kind that Kubernetes may get later in a group of its own",
      { children: [{ apiVersion: "apps/v1", kind: "DeploymentGroup" }] },
    ],
    [
      "another group's kind that is nearly one of Kubernetes' own",
      { children: [{ apiVersion: "example.com/v1", kind: "Deploymnt" }] },
    ],
    [
      "the plural of Kubernetes' own kind",
      { children: [{ apiVersion: "v1", kind: "Endpoints", plural: "endpoints" }] },
    ],
    ["namespaced kinds with a list of namespaces", { namespaces: ["a", "b"] }],
  ];
  for (const [what, fields] of accepted) {
    it(`accepts ${what}`, () => assert.equal(problemWith(fields), undefined));
  }

  it("refuses a folder whose name cannot be the operator's", () => {
    root = writeFolder({ "My_Widget/crd.yaml": widgetCrd(), "My_Widget/main.py": "" });
    folder = path.join(root, "My_Widget");
    assert.match(
      problemsOf(folder, widgetDefinition)[0] ?? "",
      /^name \(of the folder\) is "My_Widget", not a DNS label/,
    );
    assert.deepStrictEqual(problemsOf(folder, { ...widgetDefinition, name: "widget" }), []);
  });

  it("refuses a handler file that is a folder", () => {
    mkdirSync(path.join(folder, "bin.d"));
    assert.match(problemWith(command("python3", "bin.d")) ?? "", /"bin.d" is not a file\. Name a file/);
  });

  it("refuses a handler file that cannot be read", () => {
    const file = path.join(folder, "main.py");
    rmSync(file);
    // Not by its mode: root may read everything.
    symlinkSync(file, file);
    assert.match(problemWith({}) ?? "", /"main.py" cannot be read\. Name a file/);
  });
});
