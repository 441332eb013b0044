import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { parse, parseAllDocuments, stringify } from "yaml";
import type { ObjectPreview } from "../../cli/diff/preview";
import { connectionAs } from "../../cli/local/serviceAccountToken";
import type { Manifest } from "../../runtime/base/objects";
import { requestToken } from "../../runtime/programs/handlerToken";
import { resourceOf } from "../../runtime/programs/workflows/runTarget";
import { eventually } from "../support/eventually";
import { Api } from "./support/api";
import { configMap, deployment, inNamespace, job, namespace } from "./support/manifests";
import type { ObjectPlan } from "./support/testOperator";
import { useDiff } from "./support/useDiff";
import { answering } from "./support/useOperator";

const base64 = (text: string) => Buffer.from(text).toString("base64");

const PASSWORD = "pa%20ss/wörd+correct-horse";
type Tools = { readonly createHash: typeof createHash; readonly gzipSync: typeof gzipSync };
/** What a handler may make of a value. Its source is a part of one. */
function madeOf(value: string, { createHash: hash, gzipSync: zip }: Tools): Record<string, string> {
  return {
    copy: value,
    hash: hash("sha256").update(value).digest("hex"),
    half: value.slice(0, 12),
    zip: zip(value.repeat(3)).toString("base64"),
    url: `db://u:${encodeURIComponent(value)}@h`,
    basic: base64(`user:${value}`),
    backwards: [...value].reverse().join(""),
  };
}
const MAKER = `
const { createHash } = require("node:crypto");
const { gzipSync } = require("node:zlib");
const base64 = (text) => Buffer.from(text).toString("base64");
const madeOf = ${madeOf.toString()};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, used } = JSON.parse(line);
  const data = madeOf(Buffer.from(used.credentials.data.password, "base64").toString(), { createHash, gzipSync });
  const made = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "made" }, data: { ...data, plain: "v2" } };
  console.log(JSON.stringify({ id, children: [made] }));
});
`;

describe("argosy diff and argosy try", function () {
  this.timeout(60_000);
  const diff = useDiff();
  const { bench, folder, kind, answers, asked, argosy, previewed } = diff;

  const childrenIn = ([preview]: ObjectPreview[]) =>
    preview?.children.map(({ fate, object }) => `${fate} ${object.kind} ${object.name}`);

  it("say nothing where nothing would change", async () => {
    await bench.applied("same", answering(configMap("same", { a: "1" }), deployment("same")));
    const [preview] = await previewed(0, "diff", "previewed");
    const { name: operator, installation, customResource } = bench.operator.operator;
    const { apiVersion } = resourceOf(customResource);
    const object = { apiVersion, kind: kind(), namespace: bench.namespace, name: "same" };
    assert.deepEqual(preview, { operator, installation, object, result: "unchanged", children: [] });
    const { stdout } = await argosy(0, "diff");
    assert.equal(stdout, "1 object: 0 would change, 1 would not\n");
  });

  it("take an account that may do nothing but dry runs, as docs/tasks/pull-requests.md makes it", async () => {
    const page = readFileSync(path.resolve(__dirname, "../../docs/tasks/pull-requests.md"), "utf8");
    const [, block = ""] =
      /^```yaml\n(apiVersion: v1\n[^`]*argosy-dry-runs-only[^`]*)^```$/m.exec(page) ?? [];
    const manifests = parseAllDocuments(block).map((document) => document.toJS() as Manifest);
    assert.ok(manifests.length > 0);
    const { cluster } = bench.operator;
    const account = { name: "diff", namespace: "argosy-diff" };
    const theirs = new Api(connectionAs(account, cluster.connection));
    try {
      for (const manifest of manifests) await cluster.api.apply(manifest);
      await bench.applied("careful", answering(configMap("careful", { a: "1" })));
      answers("careful", answering(configMap("careful", { a: "2" })));
      // The roles of runners are gathered, and policies are in force, a moment later.
      await eventually(() => theirs.list({ apiVersion: "v1", kind: "ConfigMap" }, bench.namespace));
      const other = inNamespace(configMap("other"), bench.namespace);
      await eventually(() => assert.rejects(theirs.apply(other), /for dry runs only/));
      const { text: token } = await requestToken(account, cluster.connection);
      const file = path.join(diff.tree, "kubeconfig");
      const theirsOnly = parse(readFileSync(diff.kubeconfig, "utf8"));
      theirsOnly.users = theirsOnly.users.map(({ name }: { name: string }) => ({ name, user: { token } }));
      writeFileSync(file, stringify(theirsOnly));
      const object = `${kind().toLowerCase()}/careful`;
      const { stdout } = await argosy(3, "diff", object, "--details", "--kubeconfig", file);
      assert.match(stdout, /\.data\.a: "?1"? → "?2"?/);
    } finally {
      theirs.close();
      for (const manifest of manifests.reverse()) await cluster.api.delete(manifest);
    }
  });

  it("ask again with an object that is offered for adoption, and say what would become of it", async () => {
    const theirs = configMap("offered", { a: "theirs", b: "theirs" });
    const metadata = { ...theirs.metadata, annotations: { "argosy.dev/adopt": "true" } };
    await bench.applied("adopter", answering());
    await bench.api.create(inNamespace({ ...theirs, metadata }, bench.namespace));
    answers("adopter", answering(configMap("offered", { a: "1" })));
    const previews = await previewed(3, "diff", `${kind().toLowerCase()}/adopter`);
    assert.deepEqual(childrenIn(previews), ["adopted ConfigMap offered"]);
    const fields = previews[0]?.children[0]?.fields.filter(({ path: field }) => field.startsWith(".data"));
    assert.deepEqual(fields, [{ path: ".data.a", live: "theirs", wanted: "1" }]);
    assert.deepEqual(
      asked().map(({ children }) => children.map((child) => [child.metadata.name, child["data"]])),
      [[], [["offered", theirs["data"]]]],
    );
  });

  it("tell two children of one kind and name apart that are of different API groups", async () => {
    const twins = (replicas: number) => [
      deployment("twin", { replicas }),
      {
        apiVersion: "deployment.example.com/v1",
        kind: "Deployment",
        metadata: { name: "twin" },
        spec: { of: replicas },
      },
    ];
    await bench.applied("twins", answering(...twins(1)));
    answers("twins", answering(...twins(2)));
    const [preview] = await previewed(3, "diff", `${kind().toLowerCase()}/twins`);
    assert.deepEqual(preview?.children.map(({ object, fields }) => [object.apiVersion, fields]).sort(), [
      ["apps/v1", [{ path: ".spec.replicas", live: 1, wanted: 2 }]],
      ["deployment.example.com/v1", [{ path: ".spec.of", live: 1, wanted: 2 }]],
    ]);
  });

  it("name what would be created, changed and deleted, field by field", async () => {
    await bench.applied(
      "changes",
      answering(
        configMap("stays", { a: "1", b: "2" }),
        configMap("goes"),
        deployment("main", { replicas: 1 }),
      ),
    );
    answers(
      "changes",
      answering(
        configMap("stays", { a: "9" }),
        configMap("comes", { x: "y" }),
        deployment("main", { replicas: 3 }),
      ),
    );
    const previews = await previewed(3, "diff", `${kind().toLowerCase()}/changes`);
    assert.deepEqual(childrenIn(previews)?.sort(), [
      "changed ConfigMap stays",
      "changed Deployment main",
      "created ConfigMap comes",
      "deleted ConfigMap goes",
    ]);
    const fields = Object.fromEntries(
      previews[0]?.children.map(({ object, fields: each }) => [object.name, each]) ?? [],
    );
    assert.deepEqual(fields, {
      stays: [
        { path: ".data.a", live: "1", wanted: "9" },
        { path: ".data.b", live: "2" },
      ],
      comes: [{ path: ".data.x", wanted: "y" }],
      main: [{ path: ".spec.replicas", live: 1, wanted: 3 }],
      goes: [],
    });
    const [question] = asked();
    assert.deepEqual([question?.dryRun, question?.attempt, question?.due], [true, 1, []]);
    assert.deepEqual(
      question?.children.map(({ metadata }) => metadata.name),
      ["main", "goes", "stays"],
    );
    const { stdout } = await argosy(3, "diff", "--details");
    assert.match(stdout, /~ Deployment main +\.spec\.replicas\n +\.spec\.replicas: 1 → 3\n/);
    assert.match(stdout, /- ConfigMap goes\n/);
    assert.match(stdout, /1 object: 1 would change, 0 would not\n$/);
  });

  it("respect update: what is never updated is only created, and what is immutable is made again", async () => {
    const account = (name: string, labels = {}): Manifest => ({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name, labels },
    });
    await bench.applied("policies", answering(account("there"), job("work", "example.com/work:1")));
    answers(
      "policies",
      answering(account("there", { a: "b" }), account("new"), job("work", "example.com/work:2")),
    );
    const previews = await previewed(3, "diff");
    assert.deepEqual(childrenIn(previews)?.sort(), ["created ServiceAccount new", "recreated Job work"]);
    const recreated = previews[0]?.children.find(({ fate }) => fate === "recreated");
    assert.deepEqual(recreated?.fields, [
      {
        path: ".spec.template.spec.containers[main].image",
        live: "example.com/work:1",
        wanted: "example.com/work:2",
      },
    ]);
  });

  it("try what needs two writes: a default that is in the way, and a field whose twin would bring it back", async () => {
    const child = (name: string, spec: object, pods: object = {}): Manifest => {
      const whole = deployment(name, { replicas: 0 });
      const { template, ...rest } = whole["spec"] as { template: { spec: object } };
      return {
        ...whole,
        spec: { ...rest, ...spec, template: { ...template, spec: { ...template.spec, ...pods } } },
      };
    };
    const [account, grace] = [{ serviceAccountName: "admin" }, { terminationGracePeriodSeconds: 5 }];
    await bench.applied("twice", answering(child("twin", {}, account), child("way", {})));
    const strategy = { type: "Recreate" };
    answers("twice", answering(child("twin", {}, grace), child("way", { strategy })));
    const [preview] = await previewed(3, "diff");
    assert.equal(preview?.failure, undefined);
    const fields = preview?.children.flatMap(({ object, fields: each }) =>
      each.map(({ path: field, live, wanted }) => `${object.name}${field}: ${live} ${wanted}`),
    );
    assert.deepEqual(fields?.sort(), [
      "twin.spec.template.spec.serviceAccount: admin undefined",
      "twin.spec.template.spec.serviceAccountName: admin undefined",
      "twin.spec.template.spec.terminationGracePeriodSeconds: 30 5",
      "way.spec.strategy.rollingUpdate.maxSurge: 25% undefined",
      "way.spec.strategy.rollingUpdate.maxUnavailable: 25% undefined",
      "way.spec.strategy.type: RollingUpdate Recreate",
    ]);
  });

  it("keep the order of children: one that waits for others is none that would change now", async () => {
    const after = { annotations: { "argosy.dev/after": "Job/first" } };
    await bench.applied("ordered");
    answers("ordered", answering(job("first", "example.com/work:1"), configMap("second", {}, after)));
    const previews = await previewed(3, "diff");
    assert.deepEqual(childrenIn(previews), ["created Job first", "waits ConfigMap second"]);
    assert.deepEqual(previews[0]?.children[1]?.after, [
      { apiVersion: "batch/v1", kind: "Job", namespace: bench.namespace, name: "first" },
    ]);
    const end = await previewed(3, "diff", "--eventual");
    assert.deepEqual(childrenIn(end)?.sort(), ["created ConfigMap second", "created Job first"]);
  });

  it("try a child in a namespace that would only be created", async () => {
    const tenant = `${bench.namespace}-tenant`;
    await bench.applied("tenant");
    answers("tenant", answering(namespace(tenant), inNamespace(configMap("inside"), tenant)));
    const previews = await previewed(3, "diff");
    assert.deepEqual(childrenIn(previews), [`created Namespace ${tenant}`, "created ConfigMap inside"]);
  });

  it("say what is refused, and by whom a name is taken, and go on with other objects", async () => {
    await bench.api.apply(inNamespace(configMap("taken"), bench.namespace));
    await bench.applied("a-conflict");
    await bench.applied("b-crash");
    await bench.applied("c-refused");
    await bench.applied("d-fine");
    answers("a-conflict", answering(configMap("taken", { a: "1" })));
    answers("b-crash", { exitCode: 7, log: "KeyError: 'size'" });
    answers("c-refused", answering(deployment("refused", { replicas: -1 })));
    answers("d-fine", answering(configMap("fine")));
    const previews = await previewed(1, "diff");
    assert.deepEqual(
      previews.map(({ object, result, failure }) => [object.name, result, failure?.reason]),
      [
        ["a-conflict", "failed", "ChildConflict"],
        ["b-crash", "failed", "HandlerCrashed"],
        ["c-refused", "failed", "ChildRefused"],
        ["d-fine", "changed", undefined],
      ],
    );
    assert.match(previews[0]?.failure?.message ?? "", /it was created by other-client/);
    assert.match(previews[1]?.failure?.log ?? "", /KeyError: 'size'/);
    assert.match(previews[2]?.failure?.message ?? "", /spec\.replicas/);
  });

  describe("with Secrets", () => {
    const secret = (name: string, data: Record<string, string>): Manifest => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: bench.namespace, labels: { "argosy.dev/used-by": "argosy.previewed" } },
      data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)])),
    });
    const child = (name: string, stringData: Record<string, string>) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name },
      stringData,
    });

    it("give the handler fakes, and take a value that is passed on for the real one", async () => {
      await bench.api.apply(secret("mine", { password: "correct-horse" }));
      const url = (password: string) => `postgres://app:${password}@db`;
      await bench.applied("masked", {
        ...answering(child("derived", { url: url("correct-horse"), more: "generated-value" })),
        secret: "mine",
      } as ObjectPlan);
      await argosy(0, "diff", "--with-secrets");
      const [open] = asked();
      assert.deepEqual(open?.used["credentials"], {
        ...(open?.used["credentials"] as object),
        data: { password: base64("correct-horse") },
      });
      rmSync(path.join(folder(), "calls.jsonl"));
      answers("masked", { log: "begin" });
      await argosy(3, "diff");
      const [question] = asked();
      const text = JSON.stringify(question);
      for (const value of ["correct-horse", "generated-value", url("correct-horse")])
        assert.ok(!text.includes(base64(value)), value);
      // The object's own spec names its answer: only what is used and the children are masked.
      const credentials = question?.used["credentials"] as unknown as
        | { data: { password: string } }
        | undefined;
      const observed = question?.children[0] as unknown as { data: { more: string } } | undefined;
      const [fake, other] = [credentials?.data.password ?? "", observed?.data.more ?? ""].map((each) =>
        Buffer.from(each, "base64").toString(),
      );
      answers("masked", answering(child("derived", { url: url(fake ?? ""), more: other ?? "" })));
      const [same] = await previewed(0, "diff");
      assert.equal(same?.result, "unchanged");
    });

    it("never show a value", async () => {
      await bench.applied("shown", answering(child("shown", { password: "correct-horse" })));
      answers(
        "shown",
        answering(
          child("shown", { password: "battery-staple" }),
          configMap("copy", { copy: "battery-staple" }),
        ),
      );
      for (const flags of [[], ["--with-secrets"], ["--json"], ["--details"]]) {
        const { stdout, stderr } = await argosy(3, "diff", ...flags);
        for (const value of ["correct-horse", "battery-staple"])
          for (const form of [value, base64(value)])
            assert.ok(!(stdout + stderr).includes(form), flags.join());
        if (flags[0] === "--details") assert.match(stdout, /\.data\.password: "\*\*\*" → "\*\*\*"/);
      }
    });

    it("show of a field that is made of one only that it would change, whatever has been made", async () => {
      await bench.api.apply(secret("mine", { password: PASSWORD }));
      const live = madeOf(PASSWORD, { createHash, gzipSync });
      const plan = {
        ...answering(configMap("made", { ...live, plain: "v1", old: `was ${PASSWORD}` })),
        secret: "mine",
      };
      await bench.applied("made", plan as ObjectPlan);
      writeFileSync(path.join(folder(), "main.js"), MAKER);
      const { stdout } = await argosy(3, "diff", "--details");
      const [, ...fields] = stdout.trim().split("\n").slice(1, -1);
      const hidden = Object.keys(live).map((key) => `.data.${key}: "***" → "***"`);
      const shown = ['.data.plain: "v1" → "v2"', '.data.old: gone, was "was ***"'];
      assert.deepEqual(fields.map((line) => line.trim()).sort(), [...hidden, ...shown].sort());
      const { stdout: open } = await argosy(3, "diff", "--with-secrets", "--json");
      const [preview] = [JSON.parse(open) as ObjectPreview];
      assert.deepEqual(preview?.children[0]?.fields.map(({ path: field }) => field).sort(), [
        ".data.old",
        ".data.plain",
      ]);
      for (const text of [stdout, open])
        for (const value of Object.values(live)) assert.ok(!text.includes(value), value);
    });

    it("show no value of secretEnv, here or in the cluster, and nothing of a field if one cannot be read", async () => {
      const { runnerNamespace } = bench.operator;
      const token = { ...secret("diff-token", { token: "token-in-the-cluster" }) };
      const inHome = { ...token, metadata: { name: "diff-token", namespace: runnerNamespace } };
      await bench.api.apply(inHome);
      await bench.applied(
        "env",
        answering(configMap("env", { auth: base64("me:token-in-the-cluster"), a: "1" })),
      );
      const file = path.join(folder(), "operator.yaml");
      const secretEnv = { ARGOSY_TEST_TOKEN: { secret: "diff-token", key: "token" } };
      writeFileSync(file, stringify({ ...parse(readFileSync(file, "utf8")), secretEnv }));
      answers("env", answering(configMap("env", { auth: "x:token%20of%20mine", a: "2" })));
      process.env["ARGOSY_TEST_TOKEN"] = "token of mine";
      try {
        const { stdout } = await argosy(3, "diff", "previewed", "--details");
        assert.match(stdout, /\.data\.a: "1" → "2"\n +\.data\.auth: "[^ "]*\*\*\*" → "x:\*\*\*"\n/);
        await bench.api.delete(inHome);
        const { stdout: unread, stderr } = await argosy(3, "diff", "previewed", "--details");
        assert.match(stderr, /env: This account cannot read a Secret .*, so of a field only/);
        assert.match(unread, /\.data\.a: "\*\*\*" → "\*\*\*"\n +\.data\.auth: "\*\*\*" → "\*\*\*"\n/);
      } finally {
        delete process.env["ARGOSY_TEST_TOKEN"];
      }
    });

    it("show no value of one that only the deployed operator uses", async () => {
      await bench.api.apply(secret("mine", { password: PASSWORD }));
      const plan = { ...answering(configMap("former", { url: `db://${PASSWORD}@h` })), secret: "mine" };
      await bench.applied("former", plan as ObjectPlan);
      const file = path.join(folder(), "operator.yaml");
      const { uses: _, ...definition } = parse(readFileSync(file, "utf8"));
      writeFileSync(file, stringify(definition));
      answers("former", answering(configMap("former", { url: "none" })));
      const { stdout } = await argosy(3, "diff", "--details");
      assert.match(stdout, /\.data\.url: "db:\/\/\*\*\*@h" → "none"/);
    });
  });

  describe("of a file", () => {
    const write = (...objects: object[]) => {
      const file = path.join(diff.tree, "object.yaml");
      writeFileSync(file, objects.map((each) => JSON.stringify(each)).join("\n---\n"));
      return file;
    };

    it("an object that is new: all its children would be created", async () => {
      const file = write(
        bench.operator.object("new", answering(configMap("new", { a: "1" })), bench.namespace),
      );
      const previews = await previewed(3, "try", "-f", file);
      assert.deepEqual(childrenIn(previews), ["created ConfigMap new"]);
      assert.ok(asked()[0]?.object.metadata.uid, "no uid");
    });

    it("an object that is live: what the change would make of its children", async () => {
      await bench.applied("live", answering(configMap("live", { a: "1" })));
      const file = write(
        bench.operator.object("live", answering(configMap("live", { a: "2" })), bench.namespace),
      );
      const previews = await previewed(3, "try", "--file", file);
      assert.deepEqual(previews[0]?.children[0]?.fields, [{ path: ".data.a", live: "1", wanted: "2" }]);
      const [question] = asked();
      assert.equal(question?.object.metadata.generation, 2);
      assert.ok(question?.object["status"], "the status of the live object is missing");
    });

    it("what is wrong with the file is said", async () => {
      const nothing = write({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } });
      assert.match((await argosy(2, "try", "-f", nothing)).stderr, /no operator here handles Pod \(v1\)/);
      const broken = write({ kind: "Pod" });
      assert.match(
        (await argosy(1, "try", "-f", broken)).stderr,
        /object\.yaml.*the document is not a Kubernetes object/,
      );
      assert.match(
        (await argosy(1, "try", "-f", path.join(diff.tree, "absent.yaml"))).stderr,
        /absent\.yaml/,
      );
    });
  });

  it("say that the cluster does not serve the kind yet", async () => {
    const file = path.join(folder(), "crd.yaml");
    const text = readFileSync(file, "utf8")
      .replaceAll("previeweds", "unserveds")
      .replaceAll("Previewed", "Unserved");
    writeFileSync(file, text);
    const notServed = /previewed: the cluster serves no Unserved \(previewed\.example\.com\/v1\) yet\./;
    assert.match((await argosy(0, "diff")).stderr, notServed);
    const object = path.join(diff.tree, "unserved.yaml");
    const manifest = { apiVersion: "previewed.example.com/v1", kind: "Unserved", metadata: { name: "new" } };
    writeFileSync(object, JSON.stringify(manifest));
    assert.match((await argosy(1, "try", "-f", object)).stderr, notServed);
  });

  it("say what does not exist", async () => {
    assert.match((await argosy(2, "diff", "previewd")).stderr, /Did you mean previewed\?/);
    assert.match((await argosy(1, "diff", `${kind()}/absent`)).stderr, /There is no/);
    await bench.api.apply(inNamespace(configMap("there"), bench.namespace));
    assert.match(
      (await argosy(2, "diff", "configmaps/there")).stderr,
      /no operator here handles ConfigMap \(v1\)\. Known kinds: /,
    );
  });
});
