import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { InterruptedError } from "../../cli/common/interruption";
import { RepeatedFailures } from "../../cli/dev/repeatedFailures";
import { stableKubeconfig } from "../../cli/dev/stableKubeconfig";
import { Workshop } from "../../cli/dev/workshop";
import { ChildProcessTransport } from "../../cli/handler/childProcessTransport";
import { ClusterNotReadyError } from "../../cli/local/awaitedKind";
import { ObservedTransport } from "../../cli/local/observedTransport";
import { type Silence, untilAnswered } from "../../cli/local/silence";
import { loadOperatorsInOrder } from "../../definition/loadOperators";
import { type FailureReason, ReconcileFailure } from "../../runtime/base/failure";
import type { Engine } from "../../runtime/engine/engine";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { Operator } from "../../runtime/operator/definition";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { eventually } from "../support/eventually";
import { addFiles, removeFolder, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { assertEach } from "./support/lists";

function crdOf(kind: string) {
  const plural = `${kind.toLowerCase()}s`;
  const crd = widgetCrd({ names: { kind, plural } });
  return { ...crd, metadata: { name: `${plural}.shop.example.com` } };
}

describe("argosy dev, of several operators", () => {
  let root: string;
  let told: string[];
  let renewed: string[];
  let workshop: Workshop;
  /** Why an operator does not start, by its name. */
  let refusals: Map<string, Error>;
  /** Every operator that was to be started. */
  let asked: Operator[];
  /** The graces that engines were stopped with. */
  let graces: (number | undefined)[];

  beforeEach(() => {
    root = writeFolder({});
    addFiles(root, { "one/crd.yaml": crdOf("Widget"), "one/main.py": "" });
    addFiles(root, { "two/crd.yaml": crdOf("Gear"), "two/main.py": "" });
    for (const name of ["one", "two"]) define(name);
    told = [];
    graces = [];
    asked = [];
    refusals = new Map();
    workshop = new Workshop({
      load: () => loadOperatorsInOrder(root),
      run: async (operator: Operator) => {
        const { name } = operator;
        asked.push(operator);
        const refusal = refusals.get(name);
        if (refusal !== undefined) throw refusal;
        const stop = async (graceMs?: number) => void graces.push(graceMs);
        return { stop, renewHandler: () => {} } as unknown as Engine;
      },
      onRenew: ({ name }) => renewed.push(name),
      onNotice: (notice) => told.push(notice),
      onError: (error) => told.push(error.message),
      againMs: 20,
    });
  });
  afterEach(() => workshop.close());

  const running = () => workshop.running.map(({ operator }) => operator.name).sort();
  const definition = () => path.join(root, "one", "operator.yaml");
  const define = (name: string, more: object = {}) =>
    addFiles(root, { [`${name}/operator.yaml`]: { ...widgetDefinition, ...more } });
  /** Makes a mistake in the definition of one. @returns what puts it right */
  const broken = () => {
    const good = readFileSync(definition(), "utf8");
    writeFileSync(definition(), good.replace("children:", "childen:"));
    return () => writeFileSync(definition(), good);
  };

  it("says nothing of them if Ctrl-C comes while they start", async () => {
    const interruption = new InterruptedError("SIGINT");
    for (const name of ["one", "two"]) refusals.set(name, interruption);
    await assert.rejects(workshop.open(), (error) => error === interruption);
    assert.deepEqual(told, []);
  });

  it("runs the others while one is broken, names file and line, and starts it when it is mended", async () => {
    const mend = broken();
    await workshop.open();
    assert.deepEqual(running(), ["two"]);
    assert.match(told.join("\n"), /one\/operator\.yaml:\d+:1: childen is not a known field/);
    mend();
    await workshop.edited([definition()]);
    assert.deepEqual(running(), ["one", "two"]);
  });

  const edit = async (...files: string[]) => {
    renewed = [];
    await workshop.edited(files.map((file) => path.join(root, file)));
    return renewed.sort();
  };

  it("renews the handlers whose files were edited, and those that share what was edited", async () => {
    addFiles(root, {
      "shared/names.py": "",
      "two/operator.yaml": { ...widgetDefinition, include: ["../shared"] },
      "three/operator.yaml": { ...widgetDefinition, handler: "main.ts" },
      "three/crd.yaml": crdOf("Wheel"),
      "three/main.ts":
        'import { size } from "../sizes/size";\nexport const reconcile = () => ({ children: [], status: { size } });\n',
      "sizes/size.ts": "export const size = 3;\n",
      "sizes/other.ts": "",
      "four/operator.yaml": { ...widgetDefinition, handler: "main.ts" },
      "four/crd.yaml": crdOf("Axle"),
      "four/main.ts":
        'import { colour } from "../linked/colour";\nexport const reconcile = () => ({ children: [], status: { colour } });\n',
    });
    const elsewhere = writeFolder({ "colour.ts": "export const colour = 3;\n" });
    symlinkSync(elsewhere, path.join(root, "linked"));
    await workshop.open();
    assert.deepEqual(await edit("two/main.py"), ["two"]);
    assert.deepEqual(await edit("shared/names.py"), ["two"]);
    assert.deepEqual(await edit("shared"), ["two"]);
    assert.deepEqual(await edit("sizes/size.ts"), ["three"]);
    assert.deepEqual(await edit("sizes/other.ts", "one/operator.yaml"), []);
    assert.deepEqual(await edit("linked/colour.ts"), ["four"]);
    assert.deepEqual(await edit("linked"), ["four"]);
  });

  it("applies an edit that comes while it starts afterwards, and starts no operator twice", async () => {
    const opened = workshop.open();
    await edit("one/main.py");
    await opened;
    assert.deepEqual(asked.map(({ name }) => name).sort(), ["one", "two"]);
    assert.deepEqual(renewed, ["one"]);
  });

  it("says once that a mistake is corrected, even if the definition is again what it was", async () => {
    await workshop.open();
    const mend = broken();
    await edit("one/operator.yaml");
    mend();
    told = [];
    await edit("one/operator.yaml");
    await edit("one/operator.yaml");
    assert.deepEqual(told, ["All definitions are in order again."]);
  });

  it("renews no handler for a file of an operator that is broken, or was removed", async () => {
    const mend = broken();
    await workshop.open();
    assert.deepEqual(await edit("one/main.py", "one/operator.yaml"), []);
    mend();
    assert.deepEqual(await edit("one/operator.yaml"), []);
    removeFolder(path.join(root, "one"));
    assert.deepEqual(await edit("one/operator.yaml", "one/main.py", "one"), []);
    assert.deepEqual(running(), ["two"]);
  });

  it("says which kind an operator runs for, even if it is one of the core group", async () => {
    addFiles(root, {
      "one/operator.yaml": {
        watch: { apiVersion: "v1", kind: "ConfigMap", labels: { app: "shop" } },
        handler: widgetDefinition.handler,
        children: widgetDefinition.children,
      },
    });
    await workshop.open();
    assert.ok(told.includes("one: running, for ConfigMap of the core group"), told.join("\n"));
    assert.ok(told.includes("two: running, for Gear of shop.example.com"), told.join("\n"));
  });

  it("begins although the only operator waits for the kind that it watches, and starts it when that is served", async () => {
    removeFolder(path.join(root, "two"));
    refusals.set("one", new ClusterNotReadyError("the cluster does not serve the kind"));
    await workshop.open();
    assert.deepEqual(running(), []);
    assert.deepEqual(told, [
      "the cluster does not serve the kind",
      "No operator is running yet. The rest is started as soon as nothing keeps it from starting.",
    ]);
    refusals.clear();
    await eventually(() => assert.deepEqual(running(), ["one"]));
  });

  it("does not go back to the previous definition if the new one waits for the kind that it watches", async () => {
    await workshop.open();
    define("one", { concurrency: 2 });
    refusals.set("one", new ClusterNotReadyError("the cluster does not serve the kind"));
    asked = [];
    await edit("one/operator.yaml");
    assert.deepEqual(running(), ["two"]);
    assertEach(asked, ({ concurrency }) => concurrency, [2]);
    refusals.clear();
    await eventually(() => assert.deepEqual(running(), ["one", "two"]));
  });

  it("goes back to the previous definition if the new one cannot be started, and says so", async () => {
    await workshop.open();
    define("one", { concurrency: 2 });
    refusals.get = () =>
      asked.at(-1)?.concurrency === 2 ? new Error("the API server refused the CRD") : undefined;
    await edit("one/operator.yaml");
    assert.deepEqual(told.slice(-4), [
      "one: stopped: its definition has changed",
      "the API server refused the CRD",
      "one: its previous definition goes on until the new one is corrected",
      "one: running, for Widget of shop.example.com",
    ]);
  });

  it("names the operator that the API server does not let start, since the API server does not", async () => {
    refusals.set("one", new ApiError(403, { message: "namespaces is forbidden" }, "PATCH"));
    await workshop.open();
    assert.ok(told.includes("one cannot be started: namespaces is forbidden"), told.join("\n"));
  });

  it("runs the others while a CRD is broken, and takes their edits in", async () => {
    rmSync(path.join(root, "one", "crd.yaml"));
    await workshop.open();
    define("two", { concurrency: 2 });
    await workshop.edited([path.join(root, "two", "operator.yaml")]);
    assert.equal(workshop.running[0]?.operator.concurrency, 2);
  });

  it("starts one whose interpreter was missing as soon as it is installed, without an edit, and reports it once", async () => {
    refusals.set("one", new Error("python3 is not on the PATH"));
    await workshop.open();
    assert.deepEqual(running(), ["two"]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(told.filter((line) => line.includes("is not on the PATH")).length, 1);
    refusals.clear();
    await eventually(() => assert.deepEqual(running(), ["one", "two"]));
  });

  it("does not begin if no operator can be started", async () => {
    refusals.set("one", new Error("no")).set("two", new Error("no"));
    await assert.rejects(workshop.open(), /^Error: no$/);
  });

  it("lets a stuck run hold up the replacement of its operator for a moment only", async () => {
    await workshop.open();
    define("one", { concurrency: 2 });
    await workshop.edited([definition()]);
    assert.equal(graces.length, 1);
    assert.ok((graces[0] ?? Number.POSITIVE_INFINITY) <= 5_000);
  });

  it("keeps the first of two that define the same kind", () => {
    addFiles(root, { "two/crd.yaml": crdOf("Widget") });
    const { operators, error } = loadOperatorsInOrder(root);
    assertEach(operators, ({ name }) => name, ["one"]);
    assert.match(error?.message ?? "", /two\/operator\.yaml:.*defines widgets\.shop\.example\.com, as does/);
  });
});

describe("argosy dev, of a handler that does not answer", () => {
  const request = `${JSON.stringify({ object: { metadata: { namespace: "shop", name: "sessions" } } })}\n`;

  it("names the object, and says it more and more seldom until the answer comes", async () => {
    const silences: Silence[] = [];
    const answered = untilAnswered(request, (silence) => silences.push(silence), 20);
    await eventually(() => assert.ok(silences.length >= 2));
    answered();
    const before = silences.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(silences.length, before);
    assert.equal(silences[0]?.object, "shop/sessions");
  });

  // Of a process that hangs, integration/cliDev.test.ts shows it.
  it("says nothing of one that answers", async () => {
    const silences: Silence[] = [];
    const answers: unknown[] = [];
    const command = ["sh", "-c", 'read line; echo "{}"; sleep 6'];
    const transport = new ObservedTransport(
      new ChildProcessTransport({ command, folder: "/", env: {} }),
      () => {},
      (silence) => silences.push(silence),
    );
    const output = (text: unknown) => void answers.push(text);
    const handler = transport.start({ output, log: () => {}, exited: () => {} });
    handler.write(request);
    await eventually(() => assert.ok(answers.length > 0));
    const before = silences.length;
    await new Promise((resolve) => setTimeout(resolve, 5_300));
    handler.kill();
    assert.equal(silences.length, before);
  });
});

describe("argosy dev, of a failure that repeats", () => {
  const failed = (name: string, message = "no", reason: FailureReason = "HandlerError") =>
    ({
      operator: "widget",
      name,
      event: "reconcile",
      result: "failed",
      failure: new ReconcileFailure(reason, message),
      changes: [],
    }) as unknown as ReconcileReport;

  it("says it the first time and each time that its count has doubled", () => {
    const failures = new RepeatedFailures();
    const said = Array.from({ length: 20 }, () => failures.count(failed("a"))).filter(Boolean);
    assert.deepEqual(said, [1, 2, 4, 8, 16]);
  });

  it("says at once what is new: another message, another object, a failure after a success", () => {
    const failures = new RepeatedFailures();
    const counts = [
      failed("a"),
      failed("a"),
      failed("a"),
      failed("a", "other"),
      failed("b"),
      { ...failed("a"), result: "succeeded" } as ReconcileReport,
      failed("a", "other"),
    ].map((report) => failures.count(report));
    assert.deepEqual(counts, [1, 2, undefined, 1, 1, 1, 1]);
  });
});

describe("argosy dev, its kubeconfig", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({ "first/kubeconfig": "one", "second/kubeconfig": "two" });
  });

  const of = (start: string, operators = "/shop/handlers") =>
    stableKubeconfig(path.join(root, start, "kubeconfig"), operators, path.join(root, "cache"));

  it("has the same path at each start, another one for another folder, and is read by its owner only", async () => {
    const first = await of("first");
    await first.remove();
    assert.equal(existsSync(first.path), false);
    const second = await of("second");
    assert.equal(second.path, first.path);
    assert.equal(readFileSync(first.path, "utf8"), "two");
    assert.equal(statSync(first.path).mode & 0o777, 0o600);
    assert.notEqual((await of("first", "/other/handlers")).path, first.path);
  });

  it("stays that of the first argosy dev of a folder as long as that runs: the others have their own", async () => {
    const first = await of("first");
    const second = await of("second");
    assert.equal(readFileSync(first.path, "utf8"), "one");
    assert.equal(readFileSync(second.path, "utf8"), "two");
    await second.remove();
    assert.equal(readFileSync(first.path, "utf8"), "one");
    await first.remove();
    assert.equal(existsSync(first.path), false);
  });

  it("is not removed by an argosy dev that no longer has the path", async () => {
    const first = await of("first");
    rmSync(`${first.path}.lock`);
    const second = await of("second");
    await first.remove();
    assert.equal(readFileSync(second.path, "utf8"), "two");
    assert.equal(second.path, first.path);
  });
});
