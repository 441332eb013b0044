import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import type { KubernetesObject } from "../../runtime/base/objects";
import { resourceOf } from "../../runtime/programs/workflows/runTarget";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { buildRecordedRun } from "../../runtime/report/recordedRun";
import { eventually } from "../support/eventually";
import { temporaryFolder } from "../support/temporaryFolder";
import { reconcileReport } from "../unit/support/objects";
import { runArgosy } from "../unit/support/runArgosy";
import { announceArgo } from "./support/argo";
import { configMap, deployedDefinition, deployment, inNamespace } from "./support/manifests";
import { askForCluster } from "./support/sharedCluster";
import { answering, useOperator } from "./support/useOperator";

const PASSWORD = "correct-horse-battery";
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Answers what the object's spec says, and makes children of the password that it uses. */
const HANDLER = `
const { createInterface } = require("node:readline");
const { createHash } = require("node:crypto");
const hash = (text) => createHash("sha256").update(text).digest("hex");
let count = 0;
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, object, children, used, event } = JSON.parse(line);
  const { name, uid } = object.metadata;
  if (event === "finalize") return console.log(JSON.stringify({ id, finalized: true }));
  if (object.spec.fails) return console.log(JSON.stringify({ id, error: { message: "no size for " + name } }));
  if (object.spec.crashes) process.exit(3);
  if (object.spec.counts) return console.log(JSON.stringify({ id, children: [], status: { seen: ++count } }));
  const password = used.credentials && Buffer.from(used.credentials.data.password, "base64").toString();
  const made = password ? [
    { apiVersion: "v1", kind: "Secret", metadata: { name: name + "-url" }, stringData: { url: "db://app:" + password + "@db" } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: name + "-copy" }, data: { copy: password, hash: hash(password) } },
  ] : [];
  const named = object.spec.byUid ? [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c-" + uid } }] : [];
  const answer = object.spec.answer ?? { children: [] };
  const { TOKEN } = process.env;
  for (const each of answer.children) if (TOKEN && each.metadata.name === "signed") each.data = { hash: hash(TOKEN) };
  const status = { ...(password && { hash: hash(password) }), seen: children.filter((each) => each.kind === "Deployment").length };
  console.log(JSON.stringify({ id, ...answer, children: [...answer.children, ...made, ...named], status }));
});
`;

describe("argosy record", function () {
  this.timeout(60_000);
  announceArgo();
  const bench = useOperator({
    name: "recorded",
    handler: HANDLER,
    finalize: true,
    children: ["v1/ConfigMap", "v1/Secret", "apps/v1/Deployment"],
    uses: { credentials: { apiVersion: "v1", kind: "Secret", name: "spec.secret" } },
    secretEnv: { TOKEN: { secret: "recorded-token", key: "token" } },
  });
  let kubeconfig: string;
  /** The working tree. */
  let tree: string;
  const folder = () => path.join(tree, "recorded");

  before(async () => {
    kubeconfig = await askForCluster();
    const { operator, runnerNamespace: namespace } = bench.operator;
    await bench.api.apply(deployedDefinition(operator, namespace));
    await bench.api.apply({
      ...{ apiVersion: "v1", kind: "Secret" },
      metadata: { name: "recorded-token", namespace },
      data: { token: base64("environment-token") },
    });
  });
  beforeEach(() => {
    tree = temporaryFolder();
    cpSync(bench.operator.operator.folder, folder(), { recursive: true });
  });
  afterEach(() => delete process.env["TOKEN"]);

  const kind = () => bench.operator.operator.customResource.kind;
  const named = (name: string) => `${kind().toLowerCase()}/${name}`;

  async function argosy(expectedCode: number, ...args: string[]): Promise<string> {
    const { result, stdout, stderr } = await runArgosy(...args, "--handlers", tree);
    assert.equal(result, expectedCode, `${stdout}\n${stderr}`);
    return `${stdout}${stderr}`;
  }

  const record = (expectedCode: number, ...args: string[]) =>
    argosy(expectedCode, "record", ...args, "--kubeconfig", kubeconfig, "--namespace", bench.namespace);

  function fixture(file = "fixtures/live.yaml"): Record<string, unknown> {
    return parse(readFileSync(path.join(folder(), file), "utf8")) as Record<string, unknown>;
  }

  it("writes a live object with its children and what it uses as a fixture that holds, without any value of a Secret", async () => {
    await bench.api.apply({
      ...{ apiVersion: "v1", kind: "Secret" },
      metadata: {
        name: "mine",
        namespace: bench.namespace,
        labels: { "argosy.dev/used-by": "argosy.recorded" },
      },
      data: { password: base64(PASSWORD) },
    });
    // As with argosy dev, whose handler has the value of the shell.
    process.env["TOKEN"] = "token-of-the-shell";
    const copies = configMap("token", {
      token: `Bearer environment-token`,
      mine: "Bearer token-of-the-shell",
    });
    const signed = configMap("signed", {});
    const plan = { ...answering(deployment("main", { replicas: 2 }), copies, signed), secret: "mine" };
    const object = await bench.applied("live", plan as object);
    await eventually(async () => {
      const { status } = await bench.api.get(object);
      assert.equal((status as { seen?: number }).seen, 1);
    });
    const hashOf = (value: string) => createHash("sha256").update(value).digest("hex");
    const tokens = ["environment-token", "token-of-the-shell"];
    await bench.api.patch(inNamespace(signed, bench.namespace), {
      data: { hash: hashOf("environment-token") },
    });
    const told = await record(0, named("live"));
    assert.match(told, /fixtures\/live\.yaml: \w+ [\w-]+\/live, 5 children, 1 used object\n/);
    assert.match(
      told,
      /4 values of Secrets are fakes\n {2}run it: npm run argosy -- test recorded --handlers \S+\n/,
    );

    const passed = await argosy(0, "test", "recorded");
    assert.match(passed, /✔ recorded fixtures\/live\.yaml\n1 passed, 0 failed/);

    const text = JSON.stringify(fixture()) + readFileSync(path.join(folder(), "fixtures/live.yaml"), "utf8");
    const hash = hashOf(PASSWORD);
    const live = await bench.api.get({
      ...configMap("live-copy"),
      metadata: { name: "live-copy", namespace: bench.namespace },
    });
    assert.equal((live["data"] as { hash: string }).hash, hash);
    for (const value of [PASSWORD, ...tokens, ...tokens.map(hashOf), `db://app:${PASSWORD}@db`, hash])
      for (const form of [value, base64(value)]) assert.ok(!text.includes(form), form);
    const {
      object: recorded,
      children,
      used,
    } = fixture() as {
      object: KubernetesObject;
      children: KubernetesObject[];
      used: { credentials: { data: { password: string } } };
    };
    assert.deepEqual(Object.keys(recorded.metadata), ["name", "namespace", "generation"]);
    assert.doesNotMatch(text, /managedFields|resourceVersion|argosy\.dev\/owner-uid|creationTimestamp/);
    const main = children.find((each) => each.kind === "Deployment");
    // What the API server filled in is left out. What the controller reports is kept.
    assert.ok(main);
    assert.deepEqual(Object.keys(main["spec"] as object).sort(), ["replicas", "selector", "template"]);
    assert.ok(main["status"]);
    // The same value has the same fake wherever it is.
    const fake = Buffer.from(used.credentials.data.password, "base64");
    const copy = children.find((each) => each.metadata.name === "live-copy");
    const made = { copy: fake.toString(), hash: createHash("sha256").update(fake).digest("hex") };
    assert.deepEqual(copy?.["data"], made);
    assert.equal((recorded["status"] as { hash: string }).hash, made.hash);
  });

  it("records of a child only the metadata if the handler is given no more, says so, and still knows its values", async () => {
    const copies = Array.from({ length: 8 }, (_, at) => configMap(`heavy-${at}`, { copy: PASSWORD }));
    const data = { password: base64(PASSWORD) };
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "heavy" }, data };
    await bench.applied("live", answering(...copies, secret));
    for (const child of copies)
      await bench.api.patch(inNamespace(child, bench.namespace), { data: { foreign: "x".repeat(950_000) } });
    const foreign = base64("x".repeat(750_000));
    await bench.api.patch(inNamespace(secret, bench.namespace), { data: { foreign } });
    const told = await record(0, named("live"));
    assert.match(told, /the object's children have more than 8 MiB .*: Secret .*\/heavy\. Remove /);
    const { children } = fixture() as { children: KubernetesObject[] };
    assert.equal(children.length, 9);
    assert.deepEqual(
      children
        .filter((child) => !("data" in child))
        .map(({ kind, metadata }) => [kind, metadata.annotations]),
      [["Secret", { "argosy.dev/truncated": "true" }]],
    );
    const text = readFileSync(path.join(folder(), "fixtures/live.yaml"), "utf8");
    for (const value of [PASSWORD, base64(PASSWORD)]) assert.ok(!text.includes(value), value);
  });

  it("leaves an existing file alone, unless it is told to overwrite it", async () => {
    await bench.applied("live");
    await record(0, named("live"));
    const before = readFileSync(path.join(folder(), "fixtures/live.yaml"), "utf8");
    assert.match(await record(1, named("live")), /live\.yaml already exists\. Overwrite it with --force, or/);
    writeFileSync(path.join(folder(), "fixtures/live.yaml"), "mine: true");
    const [line = ""] = (await record(0, named("live"), "--force", "--json")).match(/^\{.*$/m) ?? [];
    const { file: _, fakeCount, ...told } = JSON.parse(line);
    const { name: operator, installation, customResource } = bench.operator.operator;
    const { apiVersion } = resourceOf(customResource);
    const object = { apiVersion, kind: kind(), namespace: bench.namespace, name: "live" };
    const counts = { childCount: 0, usedCount: 0 };
    assert.deepEqual(told, { operator, installation, object, event: "reconcile", ...counts, passed: true });
    assert.equal(typeof fakeCount, "number");
    assert.equal(readFileSync(path.join(folder(), "fixtures/live.yaml"), "utf8"), before);
    const out = path.join(tree, "elsewhere/other.yaml");
    assert.match(
      await record(0, named("live"), "--out", out),
      /argosy test runs only .*recorded\/fixtures\/\*\.yaml/,
    );
    assert.ok(readFileSync(out, "utf8").includes("object:"));
    assert.deepEqual(readdirSync(path.join(folder(), "fixtures")), ["live.yaml"]);
  });

  it("keeps the uid where the handler's answer depends on it", async () => {
    const { metadata } = await bench.applied("live", { byUid: true } as object);
    assert.match(await record(0, named("live")), /it contains uid and times/);
    assert.equal((fixture().object as KubernetesObject).metadata.uid, metadata.uid);
    await argosy(0, "test", "recorded");
  });

  it("records a failure of a live object: the handler's error is what the fixture expects", async () => {
    await bench.failed(await bench.applyObject("live", { fails: true } as object), "HandlerError");
    assert.match(
      await record(0, named("live")),
      /the handler returns an error, and the fixture expects that error/,
    );
    assert.deepEqual(fixture().answer, { error: { message: "no size for live" } });
    await argosy(0, "test", "recorded");
  });

  it("records what crashes the handler, says that it does, and expects nothing", async () => {
    await bench.failed(await bench.applyObject("live", { crashes: true } as object), "HandlerCrashed");
    const told = await record(1, named("live"));
    assert.match(told, /the fixture does not pass:\n +the handler ended with exit code 3/);
    assert.deepEqual(Object.keys(fixture()), ["object"]);
    assert.match(await argosy(1, "test", "recorded"), /✘ recorded fixtures\/live\.yaml/);
  });

  it("records an answer that differs each time, and says how", async () => {
    await bench.applied("live", { counts: true } as object);
    const told = await record(1, named("live"));
    assert.match(
      told,
      /the fixture does not pass:\n +asked a second time: status: \.seen: expected 1, got 2\n/,
    );
    assert.deepEqual(fixture().answer, { children: [], status: { seen: 1 } });
  });

  it("records the request to finalize of an object that is being deleted", async () => {
    const object = await bench.applied("live");
    await bench.api.annotate(object, { "argosy.dev/paused": "true" });
    await bench.api.delete(object);
    assert.match(await record(0, named("live")), /live, 0 children, 0 used objects, to finalize\n/);
    assert.equal(fixture().event, "finalize");
    assert.deepEqual(fixture().answer, { finalized: true });
    await bench.api.annotate(object, { "argosy.dev/paused": "false" });
  });

  describe("of a run", () => {
    const place = () => ({
      namespace: bench.operator.runnerNamespace,
      installation: "argosy",
      instanceId: "",
      keptSeconds: 600,
    });

    /** Records a run as the engine does. */
    async function runAbout(
      { metadata }: KubernetesObject,
      more: Partial<ReconcileReport> = {},
    ): Promise<string> {
      const { namespace, name, uid, generation } = metadata;
      const about = { id: randomUUID(), kind: kind(), namespace, name, uid, generation };
      const report = reconcileReport({ operator: "recorded", ...about, ...more });
      const run = `recorded-${bench.namespace}-${name}`;
      await bench.api.create(buildRecordedRun({ name: run, report, finishedAt: new Date() }, place()));
      return run;
    }

    it("takes the object as long as it is the one that the run was about, and says what a run does not hold", async () => {
      const run = await runAbout(await bench.applied("live"));
      assert.match(
        await record(0, "--run", run),
        /A run does not contain the request\. The object has not changed since/,
      );
      assert.match(
        readFileSync(path.join(folder(), "fixtures/live.yaml"), "utf8"),
        new RegExp(`the run ${run} was about`),
      );
      await argosy(0, "test", "recorded");
      await bench.applied("live", { answer: { children: [] } });
      const told = await record(1, "--run", run, "--force");
      assert.match(
        told,
        /was about generation 1 of .*, and now it is generation 2\. The request was not recorded, .*argosy -- record \S+ --namespace \S+$/m,
      );
    });

    it("refuses one about an object that is gone or another one, and one that does not exist", async () => {
      const object = await bench.applied("live");
      const other = await runAbout(object, { uid: "00000000-0000-0000-0000-000000000000" });
      assert.match(await record(1, "--run", other), /was about another .*which was deleted since/);
      await bench.api.delete(object);
      await eventually(async () => assert.equal(await bench.api.find(object), undefined));
      assert.match(await record(1, "--run", other), /no longer exists\. A run does not contain its object\./);
      assert.match(await record(1, "--run", "absent"), /There is no run absent/);
      assert.match(await record(2), /Name either an object, as KIND\/NAME, or a run with --run/);
    });

    it("of a trial has the whole request, whose Secrets become fakes", async () => {
      const { apiVersion, metadata, ...object } = bench.operator.object(
        "tried",
        { secret: "mine" } as object,
        "shop",
      );
      const credentials = {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "mine" },
        data: { password: base64(PASSWORD) },
      };
      const run = buildRecordedRun(
        {
          name: `trial-${bench.namespace}`,
          report: reconcileReport({ operator: "recorded", kind: kind(), name: "" }),
          finishedAt: new Date(),
        },
        place(),
      );
      const parameters = [
        { name: "object", value: JSON.stringify({ apiVersion, metadata, ...object }) },
        { name: "used", value: JSON.stringify({ credentials }) },
      ];
      await bench.api.create({ ...run, spec: { ...(run["spec"] as object), arguments: { parameters } } });
      await record(0, "--run", `trial-${bench.namespace}`);
      const text = readFileSync(path.join(folder(), "fixtures/tried.yaml"), "utf8");
      assert.ok(!text.includes(PASSWORD) && !text.includes(base64(PASSWORD)));
      await argosy(0, "test", "recorded");
    });

    it("of a made-up trial writes no other file, no other line and nothing on which a terminal acts", async () => {
      const { apiVersion } = bench.operator.object("tried");
      const made = [
        { kind: kind(), metadata: { name: "../../../escaped" } },
        { kind: kind(), metadata: { name: "a\u001b[2J" } },
        { kind: kind(), metadata: { name: "a", namespace: "b\nanswer: {}" } },
        { kind: `${kind()}\nanswer: {}`, metadata: { name: "a" } },
      ];
      for (const [index, each] of made.entries()) {
        const name = `made-up-${index}-${bench.namespace}`;
        const report = reconcileReport({ operator: "recorded", kind: kind(), name: "" });
        const run = buildRecordedRun({ name, report, finishedAt: new Date() }, place());
        const parameters = [{ name: "object", value: JSON.stringify({ apiVersion, spec: {}, ...each }) }];
        await bench.api.create({ ...run, spec: { ...(run["spec"] as object), arguments: { parameters } } });
        const told = await record(1, "--run", name);
        assert.match(told, /is not the name of|must be a Recorded/);
        assert.ok(!told.includes("\u001b"), JSON.stringify(told));
        assert.ok(!existsSync(path.join(folder(), "fixtures")), "a file is written");
      }
    });
  });
});
