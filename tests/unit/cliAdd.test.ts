import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { parse, stringify } from "yaml";
import { onlyDocument, withEntry, withoutEntry } from "../../cli/add/yamlEntry";
import { keepingLineEnds } from "../../cli/common/lineEnds";
import { takeLock } from "../../cli/controlPlane/lock";
import type { Json } from "../../runtime/base/objects";
import { addFiles, widgetCrd, widgetVersion, writeFolder } from "./operatorFolder";
import { assertEach } from "./support/lists";
import { runArgosy } from "./support/runArgosy";

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
  const call = (...args: string[]) => runArgosy(...args, "--handlers", path.join(root, "handlers"));
  /** What it prints if it succeeds. */
  const done = async (...args: string[]) => {
    const { result, stdout, stderr } = await call(...args);
    assert.deepEqual([result, stderr], [0, ""]);
    return stdout;
  };
  const add = (...args: string[]) => done("add", ...args);
  const remove = (...args: string[]) => done("remove", ...args);
  /** What it complains about, without a change of the file. */
  const refused = async (code: number, ...args: string[]) => {
    const before = read();
    const { result, stdout, stderr } = await call(...args);
    assert.deepEqual([result, stdout, read()], [code, "", before], args.join(" "));
    return stderr;
  };
  const read = () => readFileSync(path.join(root, "handlers/widget/operator.yaml"), "utf8");

  it("adds a kind of children, keeps every comment, and says which rights are gained", async () => {
    const stdout = await add("child", "widget", "apps/v1/StatefulSet");
    assert.equal(read(), DEFINITION.replace("[v1/ConfigMap]", "[v1/ConfigMap, apps/v1/StatefulSet]"));
    assert.match(
      stdout,
      /operator\.yaml: Added apps\/v1\/StatefulSet to children\.\nThe operator.s accounts gain:\n/,
    );
    assert.match(stdout, /create.* apps\/statefulsets everywhere/);
    assert.doesNotMatch(stdout, /configmaps/);
    await add("child", "widget", "batch/v1/Job", "--update", "recreate");
    assert.deepEqual(parse(read()).children[2], { apiVersion: "batch/v1", kind: "Job", update: "recreate" });
  });

  it("adds what objects use, and names the rights to read it", async () => {
    const stdout = await add(
      ...["uses", "widget", "settings", "v1/ConfigMap", "'settings'", "--namespace", "shared"],
    );
    assert.deepEqual(parse(read()).uses, {
      settings: { apiVersion: "v1", kind: "ConfigMap", name: "'settings'", namespace: "shared" },
    });
    assert.ok(read().startsWith(DEFINITION));
    assert.match(
      await refused(1, "add", "uses", "widget", "other", "v1/ConfigMap", "spec.missing"),
      /uses\.other\.name is spec\.missing, and the CRD's schema has no spec\.missing/,
    );
    assert.match(stdout, /Added settings to uses\.\nThe operator.s accounts gain:\n.*configmaps.*shared/);
  });

  it("adds an event from outside, which makes objects of what the CRD's spec has", async () => {
    const properties = { size: { type: "integer" }, plan: { type: "string" } };
    const version = widgetVersion({}, { spec: { type: "object", required: ["size"], properties } });
    addFiles(root, { "handlers/widget/crd.yaml": widgetCrd({ versions: [version] }) });
    const stdout = await add("event", "widget", "order-placed", "--namespace", "shop");
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
    // The program needs storage for them.
    assert.match(stdout, /pulumi config set outsideEventsStorage 1Gi/);
    assert.match(stdout, /outsideEvents: \{ storage: "1Gi" \}/);
    await refused(1, "add", "event", "widget", "order-placed");
  });

  it("adds a rule in the words of kubectl, and removes it", async () => {
    const stdout = await add("rule", "widget", "get,list", "jobs.batch,pods/log");
    assert.deepEqual(parse(read()).rules, [
      { apiGroups: ["batch"], resources: ["jobs"], verbs: ["get", "list"] },
      { apiGroups: [""], resources: ["pods/log"], verbs: ["get", "list"] },
    ]);
    assert.match(stdout, /gain:\n[\s\S]*get, list batch\/jobs everywhere\n[\s\S]*get, list pods\/log/);
    await refused(1, "add", "rule", "widget", "list,get", "jobs.batch");
    const removed = await remove("rule", "widget", "get,list", "jobs.batch");
    assert.match(removed, /Removed .*from rules\.\nThe operator.s accounts lose:\n {2}get, list batch\/jobs/);
    await remove("rule", "widget", "get,list", "pods/log");
    assert.equal(read(), DEFINITION);
    await add("rule", "widget", "get", "deployments.apps/scale");
    assert.deepEqual(parse(read()).rules[0].resources, ["deployments/scale"]);
  });

  it("adds each verb and each resource of a rule once, however often it was typed", async () => {
    await add("rule", "widget", "get,list,get", "jobs.batch,cronjobs.batch,jobs.batch");
    const rule = { apiGroups: ["batch"], resources: ["jobs", "cronjobs"], verbs: ["get", "list"] };
    assert.deepEqual(parse(read()).rules, [rule]);
  });

  it("adds a child that grants rights only with them, and says the command", async () => {
    const binding = "rbac.authorization.k8s.io/v1/RoleBinding";
    const complaint = await refused(2, "add", "child", "widget", binding);
    assert.match(
      complaint,
      /which rights a RoleBinding may grant: npm run argosy -- add child widget rbac\S+RoleBinding --grants ClusterRole\/view --handlers \S+\n$/,
    );
    await add("child", "widget", binding, "--grants", "ClusterRole/view");
    assert.deepEqual(parse(read()).grants, ["ClusterRole/view"]);
    await add("grant", "widget", "get", "configmaps");
    await add("child", "widget", "rbac.authorization.k8s.io/v1/Role", "--grants", "list secrets");
    assertEach(
      parse(read()).grants,
      (grant: { verbs?: string[] } | string) => (typeof grant === "string" ? grant : grant.verbs),
      ["ClusterRole/view", ["get"], ["list"]],
    );
    await remove("grant", "widget", "ClusterRole/view");
    assert.equal(parse(read()).grants.length, 2);
    // Neither is valid without the other.
    await remove("child", "widget", binding);
    assert.equal(parse(read()).grants.length, 2);
    const last = await remove("child", "widget", "rbac.authorization.k8s.io/v1/Role");
    assert.match(last, /Retired rbac\S+Role and removed grants: the objects/);
    assert.equal(parse(read()).grants, undefined);
  });

  it("does not remove what an alias refers to", async () => {
    const definition = `${DEFINITION}schedules:\n  a: &daily { cron: "0 3 * * *" }\n  b: *daily\n`;
    addFiles(root, { "handlers/widget/operator.yaml": definition });
    const complaint = await refused(1, "remove", "schedule", "widget", "a");
    assert.match(complaint, /operator\.yaml: an alias refers to a in schedules\. Write it out/);
  });

  it("adds variables, and removes them", async () => {
    await add("env", "widget", "LOG_LEVEL=info=1");
    assert.deepEqual(parse(read()).env, { LOG_LEVEL: "info=1" });
    const secret = await add("secretEnv", "widget", "TOKEN", "api", "token");
    assert.match(secret, /kubectl -n argosy create secret generic api --from-literal token=/);
    assert.deepEqual(parse(read()).secretEnv, { TOKEN: { secret: "api", key: "token" } });
    for (const [what, name] of [
      ["env", "LOG_LEVEL"],
      ["secretEnv", "TOKEN"],
    ] as const)
      await remove(what, "widget", name);
    assert.equal(read(), DEFINITION);
  });

  it("removes a schedule, what objects use and an event, with the comments of nothing else", async () => {
    const block = `${DEFINITION}schedules:
  # nightly
  nightly: { cron: "0 3 * * *" }
  # weekly
  weekly: # at the end
    cron: "0 3 * * 0"
    timeZone: UTC
# end
`;
    addFiles(root, { "handlers/widget/operator.yaml": block });
    await remove("schedule", "widget", "weekly");
    assert.equal(read(), block.replace(/ {2}weekly:[\s\S]*UTC\n/, ""));
    await add("event", "widget", "order-placed");
    await add("uses", "widget", "settings", "v1/ConfigMap", "'settings'");
    assert.match(await remove("uses", "widget", "settings"), /lose:\n.*configmaps/);
    await remove("event", "widget", "order-placed");
    assert.equal(read(), block.replace(/ {2}weekly:[\s\S]*UTC\n/, ""));
    assert.match(
      await refused(1, "remove", "schedule", "widget", "nighty"),
      /schedules has no nighty\. Did you mean nightly\?\n$/,
    );
  });

  it("retires a kind of children first, so that none stays, and removes it then", async () => {
    // As argosy new writes it.
    addFiles(root, {
      "handlers/widget/operator.yaml": DEFINITION.replace("[v1/ConfigMap]", "[ v1/ConfigMap ]"),
    });
    const first = await remove("child", "widget", "v1/ConfigMap");
    const retired = "[{ apiVersion: v1, kind: ConfigMap, retired: true }]";
    assert.equal(read(), DEFINITION.replace("[v1/ConfigMap]", retired));
    assert.match(
      first,
      /Retired v1\/ConfigMap[\s\S]*npm run argosy -- remove child widget v1\/ConfigMap --handlers \S+\n$/,
    );
    await remove("child", "widget", "v1/ConfigMap");
    assert.equal(read(), DEFINITION.replace("[v1/ConfigMap]", "[]"));
  });

  it("adds to a definition before an empty document, and refuses an alias", async () => {
    addFiles(root, { "handlers/widget/operator.yaml": `${DEFINITION}---\n` });
    await add("schedule", "widget", "nightly", "0 3 * * *");
    assert.equal(read(), `${DEFINITION}schedules:\n  nightly: { cron: 0 3 * * * }\n---\n`);
    const definition = DEFINITION.replace("[v1/ConfigMap]", "*none").replace(
      "crd:",
      "include: &none []\ncrd:",
    );
    addFiles(root, { "handlers/widget/operator.yaml": definition });
    const complaint = await refused(1, "add", "child", "widget", "v1/Secret");
    assert.match(complaint, /operator\.yaml: an alias stands for children\. Write it out/);
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
      [["chidl", "widget", "v1/Secret"], 2, /there is nothing with this name\. Did you mean child\?/],
      [["schedule", "widget", "nightly"], 2, /^Write: argosy add schedule/],
      [["uses", "widget", "settings", "v1/ConfigMap"], 2, /^Write: argosy add uses/],
      [
        ["child", "widget", "v1/Secret", "--namespace", "a"],
        2,
        /^argosy add child has no option --namespace\. Write: argosy add child/,
      ],
      [["event", "widget", "a", "--time-zone", "UTC"], 2, /^argosy add event has no option --time-zone\./],
      [["env", "widget", "LOG_LEVEL"], 2, /^Write: argosy add env OPERATOR LOG_LEVEL=info\n$/],
      [["env", "widget", "9=info"], 1, /operator\.yaml.*env/],
      [["rule", "widget", "get"], 2, /^Write: argosy add rule OPERATOR get,list jobs\.batch\n$/],
      [["rule", "widget", "get", "*"], 1, /a wildcard/],
      [
        ["grant", "widget", "ClusterRole/view"],
        1,
        /operator\.yaml:6:1: grants is given, and no kind of children is one of.*\nNothing was written\. The lines are those/,
      ],
    ] as const) {
      assert.match(await refused(code, "add", ...args), complaint);
    }
  });

  it("does not write over the change of another command", async () => {
    const held = await takeLock(path.join(root, "handlers/widget/.operator.yaml.lock"));
    assert.ok("release" in held);
    const complaint = /operator\.yaml: process \d+ changes it now\. Run this command again\.\n$/;
    assert.match(await refused(1, "add", "env", "widget", "A=1"), complaint);
    assert.match(await refused(1, "remove", "child", "widget", "v1/ConfigMap"), complaint);
    await held.release();
    await add("env", "widget", "A=1");
    assert.deepEqual(readdirSync(path.join(root, "handlers/widget")).sort(), [
      "crd.yaml",
      "main.py",
      "operator.yaml",
    ]);
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
    ["in a missing list", "b: 1", "b: 1\na: [new]\n"],
    ["before an empty document", "b: 1\n# end\n---\n# none\n", "b: 1\n# end\na: [new]\n---\n# none\n"],
    ["before the marker of the end", "---\nb: 1\n...\n", "---\nb: 1\na: [new]\n...\n"],
    ["in a list before an empty document", "a:\n  - x\n---\n", "a:\n  - x\n  - new\n---\n"],
    ["in a file that is one map between braces", "{ b: 1 }\n", "{ b: 1, a: [ new ] }\n"],
  ];
  for (const [what, before, after] of cases) {
    it(what, () => assert.equal(added(before, "a", undefined, "new"), after));
  }

  it("with the line ends of the file", () => {
    const before = "crd: crd.yaml\r\nb: # why\r\n  - x\r\n";
    assert.equal(added(before, "b", undefined, "z"), `${before}  - z\r\n`);
    assert.equal(added(before, "a", "c", 5), `${before}a:\r\n  c: 5\r\n`);
  });

  it("in quotes if kubectl would read it otherwise, whatever the form of the file", () => {
    for (const trap of ["yes", "0644", "a\u2028b"]) {
      const quoted = JSON.stringify(trap).replace("\u2028", "\\u2028");
      for (const before of ["b: 1\n", "a: [x]\n", "{ b: 1 }\n"]) {
        const after = added(before, "a", undefined, trap);
        assert.ok(after.includes(quoted), after);
        assert.equal(parse(after).a.at(-1), trap);
      }
    }
  });

  it("goes again, and leaves the text as it was", () => {
    const gone = (text: string, field: string, place: string | number) =>
      withoutEntry(text, onlyDocument(text), field, place);
    for (const before of [
      "a:\n  - x # one\n  # two\n  - y\nb: 1\n",
      "a: [x, y] # all\nb: 1\n",
      "a: [\n  x, # one\n  y\n]\n",
    ]) {
      const after = withEntry(before, onlyDocument(before), { field: "a", value: "new" });
      assert.equal(gone(after, "a", 2), before);
    }
    assert.equal(gone("a: [x, y]\n", "a", 0), "a: [y]\n");
    assert.equal(gone("a: [x]\nb: 1\n", "a", 0), "b: 1\n");
    assert.equal(gone("{ a: [x], b: 1 }\n", "a", 0), "{ b: 1 }\n");
    assert.equal(gone("children:\n  - x # one\nb: 1\n", "children", 0), "children: []\nb: 1\n");
  });

  it("goes again, and nothing else is changed, for any content", () => {
    const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean());
    const list = fc.array(scalar, { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(list, fc.nat(3), fc.constantFrom("block", "flow"), (items, nth, collectionStyle) => {
        const at = nth % items.length;
        const text = stringify({ b: 1, a: items, z: [...items] }, { collectionStyle });
        const left = parse(withoutEntry(text, onlyDocument(text), "a", at) ?? "");
        assert.deepEqual(left, { b: 1, a: items.toSpliced(at, 1), z: items });
      }),
    );
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
