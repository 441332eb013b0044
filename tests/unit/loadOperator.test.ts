import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { OperatorError } from "../../definition/problems";
import type { Operator } from "../../runtime/operator/definition";
import {
  addFiles,
  loadDefinition,
  problemsOf,
  widgetCrd,
  widgetDefinition,
  writeFolder,
} from "./operatorFolder";
import { assertEach } from "./support/lists";
import { titleOf } from "./support/titles";
import { command, granting, image, useWidgetFolder } from "./support/widgetFolder";

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
    assertEach(loaded, ({ plural, retired }) => [plural, retired], [
      ["deployments", undefined],
      ["services", true],
    ]);
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

describe("loadOperator", () => {
  const widget = useWidgetFolder();

  const child = (fields: object) => ({
    children: [{ apiVersion: "apps/v1", kind: "Deployment", ...fields }],
  });
  const rule = (fields: object) => ({
    rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"], ...fields }],
  });

  const refused: [object, RegExp][] = [
    [{ crd: 3 }, /^crd must be a string, not the number 3: write it in quotes\. Give the path/],
    [{ crd: "" }, /^crd is empty\. /],
    [{ handler: [] }, /^handler must be a string or an object, not a list\. /],
    [image("python"), /^handler.image is "python", without a tag or a digest\. Pin/],
    [image("localhost:5000/python"), /without a tag or a digest/],
    [image("python:latest"), /^handler.image is "python:latest", and .* Pin the image/],
    [image("python :3"), /^handler.image is "python :3", which cannot be the name of an image/],
    [image(":3"), /^handler.image is ":3", which cannot be the name of an image/],
    [command(), /^handler.command is empty\. Give program and arguments/],
    [command("python3", "mian.py"), /^handler.command\[1\] "mian.py" is missing\. Create/],
    [command("./run"), /^handler.command\[0\] ".\/run" is missing\. /],
    [
      command("python3", "--domain", ".example.com"),
      /^handler.command\[2\] ".example.com" is missing\. .*with its option: --host=example\.com\.$/,
    ],
    [command("python3", "../x.py"), /is outside of the operator's folder\. Put/],
    [
      { formerNames: ["Cache"] },
      /^formerNames\[0\] is "Cache", which cannot be an operator's name\. Give a name/,
    ],
    [{ formerNames: ["a".repeat(41)] }, /cannot be an operator.s name/],
    [{ formerNames: ["a.b.c"] }, /cannot be an operator.s name/],
    [{ formerNames: [`${"a".repeat(21)}.cache`] }, /cannot be an operator.s name/],
    [{ formerNames: ["widget"] }, /^formerNames\[0\] is "widget", the operator's own name\. Leave it out\./],
    [
      { formerNames: ["cache", "argosy.cache"] },
      /^formerNames\[1\] is "argosy.cache", as is formerNames\[0\]\. Keep one of the two\./,
    ],
    [
      child({ retired: true, update: "never" }),
      /^children\[0\]\.update is given for a retired kind, which is only deleted\. Leave it out\./,
    ],
    [{ children: {} }, /^children must be a list, not an object\. /],
    [
      { children: ["Deployment"] },
      /^children\[0\] is "Deployment", not a group, a version and a kind\. Write, for example, apps\/v1\/Dep/,
    ],
    [{ children: ["apps / v1 / Deployment"] }, /^children\[0\] is "apps \/ v1 \/ Deployment", not a group/],
    [{ children: [["v1"]] }, /^children\[0\] must be a string or an object, not a list/],
    [
      { children: ["v1/Service", { apiVersion: "v1", kind: "Service" }] },
      /^children\[1\] is the same kind as children\[0\]: Service\. Keep one/,
    ],
    [child({ apiVersion: "apps" }), /^children\[0\].apiVersion is "apps", not/],
    [child({ kind: "deployment" }), /^children\[0\].kind is "deployment", not a kind\. /],
    [child({ update: "replace" }), /is "replace", not one of "apply", "recreate", "never"/],
    [child({ plural: "Data" }), /^children\[0\].plural is "Data", not the lower-case/],
    [
      child({ apiVersion: "v1" }),
      /^children\[0\].apiVersion is "v1", which has no Deployment\. In Kubernetes, this kind is in "apps\/…"\./,
    ],
    [
      child({ kind: "Deploymnt" }),
      /^children\[0\].kind is "Deploymnt", which apps\/v1 does not have\. Did you mean Deployment\?/,
    ],
    [
      child({ apiVersion: "v1", kind: "Configmap" }),
      /^children\[0\].kind is "Configmap", which v1 does not have\. Did you mean ConfigMap\?/,
    ],
    [
      child({ plural: "deployment" }),
      /^children\[0\].plural is "deployment", and that of Deployment is "deployments"\. Leave it out/,
    ],
    [
      { children: [...widgetDefinition.children, { apiVersion: "apps/v1beta1", kind: "Deployment" }] },
      /^children\[1\] is the same kind as children\[0\]: Deployment\. Keep one/,
    ],
    [
      { children: [{ apiVersion: "shop.example.com/v2", kind: "Widget" }] },
      /^children\[0\] is Widget, the operator's own kind\. Leave it out/,
    ],
    [
      { children: [{ apiVersion: "v1", kind: "Namespace" }], namespaces: ["a"] },
      /^children\[0\] is Namespace, which is cluster-scoped\. Leave it out, or write namespaces: all/,
    ],
    [
      { name: "Widget" },
      /^name is "Widget", not a DNS label of at most 40 characters that begins with a letter\. Use/,
    ],
    [{ name: "a".repeat(41) }, /not a DNS label of at most 40 characters/],
    [{ name: "3d" }, /^name is "3d", not a DNS label .* a letter\. Use/],
    [
      { execution: "pod", record: "changes" },
      /^record has no meaning with execution: pod: .*\. Leave it out\.$/,
    ],
    [
      { execution: "pod", env: { GREETING: "{{name}}" } },
      /^env\.GREETING has "\{\{", which Argo .*\. Put it into a file/,
    ],
    [
      { execution: "pod", ...command("sh", "-c", "echo {{name}}") },
      /^handler\.command\[2\] has "\{\{", which Argo/,
    ],
    [{ execution: "job" }, /^execution is "job", not one of "resident", "pod"\. /],
    [{ concurrency: 129 }, /^concurrency is 129, outside of 1 to 128\. /],
    [{ timeoutSeconds: 0.5 }, /^timeoutSeconds must be a whole number, not the number 0.5\. /],
    [{ timeoutSeconds: 3601 }, /^timeoutSeconds is 3601, outside of 1 to 3600\. /],
    [{ resyncSeconds: 9 }, /^resyncSeconds is 9, outside of 10 to 86400\. /],
    [{ namespaces: [] }, /^namespaces is empty\. Write all or a list/],
    [{ namespaces: "team-a" }, /^namespaces is "team-a", neither "all" nor a list\. Write/],
    [{ namespaces: ["A"] }, /^namespaces\[0\] is "A", not the name of a namespace\. /],
    [{ finalize: "maybe" }, /^finalize must be true or false, not the string "maybe"\. /],
    [{ finalize: null }, /^finalize has no value\. Leave it out for false\./],
    [{ rollout: { first: "0%" } }, /^rollout\.first is "0%", not a share of 1% to 100%\. Write/],
    [{ rollout: { first: "101%" } }, /^rollout\.first is "101%", not a share/],
    [{ rollout: { haltAfterFailures: 0 } }, /^rollout\.haltAfterFailures is 0, outside of 1/],
    [{ ask: "never" }, /^ask is "never", not one of "always", "changed"\. Leave it out/],
    [
      { ask: "changed", rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] },
      /^ask is changed, but a handler with rules asks the API server itself\. Leave ask out, or let uses give/,
    ],
    [
      { resources: { limits: { cpu: 1 } } },
      /^resources.limits.cpu must be a string, not the number 1: write it in quotes\. /,
    ],
    [{ resources: { limits: { memory: "1GB" } } }, /is "1GB", not a quantity\. /],
    [
      { resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "1000m", memory: "900Mi" } } },
      /^resources\.requests\.memory is 1Gi, and the limit is 900Mi\. Give at most the limit, or raise the limit\.$/,
    ],
    [{ env: { PORT: 80 } }, /^env.PORT must be a string, not the number 80: write it in quotes\. /],
    [{ env: { "LOG-LEVEL": "" } }, /^env.LOG-LEVEL is "LOG-LEVEL", not the name of an/],
    [
      { env: { BIG: "é".repeat(64 * 1024) } },
      /^env\.BIG has 131072 bytes, and Linux starts no process with such a variable\. Put it into a file/,
    ],
    [{ secretEnv: { A: { secret: "api" } } }, /^secretEnv.A.key is missing\. /],
    [
      { env: { A: "" }, secretEnv: { A: { secret: "api", key: "a" } } },
      /^secretEnv.A is in env as well\. Keep one/,
    ],
    [{ record: "none" }, /^record is "none", not one of "changes", "all", "failures"\. /],
    [rule({ apiGroups: ["*"] }), /^rules\[0\].apiGroups\[0\] is "\*", a wildcard\. Name each/],
    [rule({ resources: ["pods/*"] }), /^rules\[0\].resources\[0\] is "pods\/\*", a wildcard/],
    [rule({ verbs: ["*"] }), /^rules\[0\].verbs\[0\] is "\*", a wildcard/],
    [rule({ verbs: ["escalate"] }), /^rules\[0\].verbs\[0\] is "escalate", with which an account/],
    [rule({ verbs: ["get", "bind"] }), /^rules\[0\].verbs\[1\] is "bind", with which an account/],
    [rule({ verbs: ["impersonate"] }), /is "impersonate", with which an account/],
    ...[
      ["gett", "get"],
      ["List", "list"],
      ["udpate", "update"],
    ].map(([typed, meant]): [object, RegExp] => [
      rule({ verbs: [typed] }),
      new RegExp(`^rules\\[0\\]\\.verbs\\[0\\] is "${typed}", and probably means ${meant}\\. Name each verb`),
    ]),
    [rule({ verbs: [] }), /^rules\[0\].verbs is empty\. /],
    ...[
      ["", "jobs", "jobs in apiGroups: \\[batch\\]"],
      ["", "Pod/log", "pods/log"],
      ["batch", "job", "jobs"],
      ["apps", "daemonset/status", "daemonsets/status"],
      ["batch", "secrets", 'secrets in apiGroups: \\[""\\]'],
    ].map(([group, resource, meant]): [object, RegExp] => [
      rule({ apiGroups: [group], resources: ["cronjobs", resource].slice(group === "batch" ? 0 : 1) }),
      new RegExp(
        `^rules\\[0\\]\\.resources\\[\\d\\] is "${resource}", which apiGroups: \\[.*\\] does not have\\. Did you mean ${meant}\\?$`,
      ),
    ]),
    [
      granting("Role", { apiGroups: ["apps"], resources: ["deployment"], verbs: ["get"] }),
      /^grants\[0\]\.resources\[0\] is "deployment", .* Did you mean deployments\?$/,
    ],
    ...["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"].map((kind): [object, RegExp] => [
      granting(kind),
      new RegExp(
        `^children\\[0\\] is ${kind}, and "grants" does not say what it may grant\\. Declare the rights, for example grants: `,
      ),
    ]),
    [
      { grants: ["ClusterRole/view"] },
      /^grants is given, and no kind of children is one of Role, .*\. Leave it out, or add the kind/,
    ],
    [
      { ...granting("Role", "Role/a"), children: [{ ...granting("Role").children[0], retired: true }] },
      /^grants is given, and no kind of children/,
    ],
    [
      granting("Role", "ClusterRole/view"),
      /^grants\[0\] is an existing role, and children has no RoleBinding and no ClusterRoleBinding to refer to it\. Leave/,
    ],
    [
      granting("ClusterRoleBinding", "Role/reader"),
      /^grants\[0\] is an existing role, and children has no RoleBinding to refer/,
    ],
    [
      granting("ClusterRoleBinding", "ClusterRole/cluster-admin"),
      /^grants\[0\] is the role cluster-admin, with which an account can gain every other right\. Name a role with fewer rights/,
    ],
    [
      granting("RoleBinding", "view"),
      /^grants\[0\] is "view", not Role or ClusterRole with a name\. Write a rule/,
    ],
    [granting("RoleBinding", "ClusterRole/*"), /^grants\[0\] is "ClusterRole\/\*", not/],
    [
      granting("Role", { apiGroups: [""], resources: ["*"], verbs: ["get"] }),
      /^grants\[0\].resources\[0\] is "\*", a wildcard/,
    ],
    [
      granting("Role", { apiGroups: [""], resources: ["roles"], verbs: ["escalate"] }),
      /^grants\[0\].verbs\[0\] is "escalate", with which an account/,
    ],
    [granting("Role", 3), /^grants\[0\] must be a string or an object, not the number 3\. Write/],
  ];
  for (const [fields, expected] of refused) {
    it(`refuses: ${titleOf(expected)}`, () =>
      assert.match(widget.problemWith(fields) ?? "nothing was refused", expected));
  }

  describe("of a handler that exists, and is not deployed", () => {
    const files = ["node_modules/.bin/tsx", "fixtures/main.py"];
    beforeEach(() => {
      for (const file of files) {
        mkdirSync(path.join(widget.folder, path.dirname(file)), { recursive: true });
        writeFileSync(path.join(widget.folder, file), "");
      }
    });

    it("refuses a program in node_modules", () =>
      assert.equal(
        widget.problemWith(command("./node_modules/.bin/tsx", "main.py")),
        'handler.command[0] "./node_modules/.bin/tsx" is not deployed, because node_modules is left out. Put the file elsewhere in the folder, or into the image, and then give its absolute path.',
      ));

    it("refuses a function that is not in UTF-8, unless Python knows its encoding", () => {
      const problemWith = (text: string, encoding: BufferEncoding) => {
        writeFileSync(path.join(widget.folder, "text.py"), Buffer.from(text, encoding));
        return widget.problemWith({ handler: "text.py" });
      };
      const text = "def reconcile(request): ... # gr\u00f6\u00dfe\n";
      const refused = 'handler "text.py" is not UTF-8. Save it in that encoding, as every editor can.';
      assert.equal(problemWith(text, "utf8"), undefined);
      assert.equal(problemWith(`\ufeff${text}`, "utf16le"), refused);
      assert.equal(problemWith("def reconcile(request): ...", "utf16le"), refused);
      assert.equal(problemWith(text, "latin1"), refused);
      assert.equal(problemWith(`# -*- coding: latin-1 -*-\n${text}`, "latin1"), undefined);
    });

    it("refuses a function among the fixtures", () =>
      assert.equal(
        widget.problemWith({ handler: "fixtures/main.py" }),
        'handler "fixtures/main.py" is not deployed, because fixtures is left out. Put the file elsewhere in the folder.',
      ));
  });

  describe("of a script that is run by itself", () => {
    const problemWith = (content: string) => {
      writeFileSync(path.join(widget.folder, "run.sh"), content);
      return widget.problemWith(command("./run.sh"));
    };

    it("refuses Windows line endings, with which Linux does not find the interpreter", () =>
      assert.equal(
        problemWith("#!/bin/sh\r\necho\r\n"),
        'handler.command[0] "./run.sh" has Windows line endings: Linux reads each carriage return as part of the interpreter\'s name, or of a command. Save it with Unix line endings. If git changes them, write this line into .gitattributes: run.sh eol=lf.',
      ));

    it("refuses them in a script that a shell reads, and in no other file that a program reads", () => {
      writeFileSync(path.join(widget.folder, "run.sh"), "if true\r\nthen echo\r\nfi\r\n");
      assert.match(
        widget.problemWith(command("bash", "run.sh")) ?? "",
        /^handler\.command\[1\] "run\.sh" has Windows line endings: /,
      );
      writeFileSync(path.join(widget.folder, "run.py"), "#!/bin/python\r\n");
      assert.equal(widget.problemWith(command("python3", "run.py")), undefined);
    });

    it("accepts Unix line endings, and a program that is not a script", () => {
      assert.equal(problemWith("#!/bin/sh\necho\n"), undefined);
      assert.equal(problemWith("\x7fELF\r\n#!\r\n"), undefined);
    });

    it("accepts a program that is larger than the longest string", () => {
      assert.equal(problemWith("\x7fELF"), undefined);
      truncateSync(path.join(widget.folder, "run.sh"), 600_000_000);
      assert.equal(widget.problemWith(command("./run.sh")), undefined);
      truncateSync(path.join(widget.folder, "run.sh"));
    });
  });

  const accepted: [string, object][] = [
    ["a digest without tag", image(`python@sha256:${"0".repeat(64)}`)],
    ["a registry's port and a tag", image("localhost:5000/team/python:3.13")],
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
    it(`accepts ${what}`, () => assert.equal(widget.problemWith(fields), undefined));
  }
});
