import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { ReconcileFailure } from "../../runtime/base/failure";
import { readJson } from "../../runtime/base/json";
import type { ObjectName } from "../../runtime/base/objects";
import type { Engine } from "../../runtime/engine/engine";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { NotLeadingError } from "../../runtime/leadership/term";
import { Replay } from "../../runtime/programs/resident/replay";
import { triedAnswer } from "../../runtime/programs/workflows/runResult";
import { RunTargetError, runTargetOf } from "../../runtime/programs/workflows/runTarget";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { type TrialResult, Trials } from "../../runtime/reconcile/trial";
import { eventually } from "../support/eventually";
import { observed, operator, reconcileReport, widget } from "./support/objects";
import { type ApiCall, json, refuse, sendEvent, TestApiServer } from "./support/testApiServer";

const BASE = "/apis/argoproj.io/v1alpha1";
const SETS = `${BASE}/namespaces/operators/workflowtasksets`;
const WORKFLOW = { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow" };

const TASK_SET = {
  metadata: {
    name: "submitted",
    namespace: "operators",
    uid: "set",
    resourceVersion: "5",
    ownerReferences: [{ ...WORKFLOW, name: "submitted", uid: "flow" }],
  },
  spec: { tasks: { node: { plugin: { argosy: { operator: "shop" } } } } },
};

const REPORT = reconcileReport({ namespace: "services", name: "demo" });

/** An API server with one WorkflowTaskSet, and an engine that notes what it is asked for. */
describe("Replay", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let replay: Replay;
  let notices: string[];
  let asked: ObjectName[];
  let leading: boolean;
  let served: boolean;
  /** What the Workflow says of its object. */
  let parameters: { readonly name: string; readonly value: string }[];
  /** What the server answers to the patches, one after another; then 200. */
  let refusals: number[];
  let outcome: () => ReconcileReport;
  let tried: (object: unknown) => Promise<TrialResult>;

  beforeEach(async () => {
    tried = () => assert.fail("nothing is to be tried");
    [notices, asked, refusals, leading, served] = [[], [], [], true, true];
    outcome = () => REPORT;
    parameters = [
      { name: "namespace", value: "services" },
      { name: "name", value: "demo" },
    ];
    api = await TestApiServer.start((call, response) => {
      if (call.path === BASE) {
        const resources = [{ name: "workflowtasksets", kind: "WorkflowTaskSet", namespaced: true }];
        return served ? json(response, { resources }) : refuse(response, 404);
      }
      if (call.method === "PATCH") {
        const code = refusals.shift();
        if (code === undefined) return json(response, TASK_SET);
        refuse(response, code);
        return;
      }
      if (call.path === SETS && call.query.get("watch")) {
        return sendEvent(response, "MODIFIED", {
          ...TASK_SET,
          metadata: { ...TASK_SET.metadata, resourceVersion: "6" },
        });
      }
      if (call.path === SETS)
        return json(response, { metadata: { resourceVersion: "5" }, items: [TASK_SET] });
      if (call.path.endsWith("/services/widgets/demo")) return refuse(response, 403);
      json(response, {
        ...WORKFLOW,
        metadata: { name: "submitted", uid: "flow" },
        spec: { arguments: { parameters } },
      });
    });
    client = api.client();
    replay = new Replay({
      client,
      operator: operator(),
      namespace: "operators",
      instanceId: "",
      onNotice: (notice) => void notices.push(notice),
      engine: {
        get isLeading() {
          return leading;
        },
        reconcileNow: async (name) => {
          asked.push(name);
          return outcome();
        },
        tryHandler: (object) => tried(object),
      } as Engine,
    });
  });

  afterEach(async () => {
    await replay.stop(0);
    client.close();
    await api.stop();
  });

  const patches = (): ApiCall[] => api.calls.filter(({ method }) => method === "PATCH");
  /** Starts, and waits for so many answers. */
  async function answered(count = 1): Promise<void> {
    replay.start();
    await eventually(() => assert.ok(patches().length >= count, "answered"));
  }

  it("answers a task once, into the version of its set that it has seen last", async () => {
    await answered();
    const [patch] = patches();
    assert.equal(patch?.path, `${SETS}/submitted/status`);
    const body = patch?.body as {
      metadata: { uid: string };
      status: { nodes: Record<string, { phase: string }> };
    };
    assert.equal(body.metadata.uid, "set");
    assert.equal(body.status.nodes["node"]?.phase, "Succeeded");
    assert.deepStrictEqual(asked, [{ namespace: "services", name: "demo" }]);
  });

  it("looks only for sets of its Workflow controller that have not completed", async () => {
    replay.start();
    await eventually(() =>
      assert.ok(
        api.calls.some(({ path }) => path === SETS),
        "listed",
      ),
    );
    const list = api.calls.find(({ path }) => path === SETS);
    assert.equal(
      list?.query.get("labelSelector"),
      "workflows.argoproj.io/completed!=true,!workflows.argoproj.io/controller-instanceid",
    );
  });

  it("answers into the newer version if the set has changed since it was read, without reconciling again", async () => {
    refusals = [409, 409];
    replay.start();
    await eventually(() => assert.ok(patches().length === 3, "answered"));
    const last = patches().at(-1)?.body as { metadata: { resourceVersion: string } };
    assert.equal(last.metadata.resourceVersion, "6");
    assert.equal(asked.length, 1);
  });

  it("writes an answer again that could not be written, without reconciling again", async () => {
    refusals = [413];
    replay.start();
    await eventually(() => assert.ok(patches().length === 2, "answered"));
    const [first, second] = patches().map(({ body }) => (body as { status: object }).status);
    assert.deepStrictEqual(second, first);
    assert.equal(asked.length, 1);
  });

  it("answers nothing while it does not lead, and everything once it does", async () => {
    leading = false;
    replay.start();
    await eventually(() =>
      assert.ok(
        api.calls.some(({ query }) => query.get("watch") !== null),
        "watching",
      ),
    );
    assert.equal(asked.length, 0);
    leading = true;
    await eventually(() => assert.ok(patches().length === 1, "answered"));
  });

  it("leaves the answer to the next leader if the lease is lost before the answer", async () => {
    outcome = () => {
      throw new NotLeadingError();
    };
    replay.start();
    await eventually(() => assert.ok(asked.length === 1, "asked"));
    leading = false;
    assert.deepStrictEqual([patches().length, notices], [0, []]);
  });

  it("leaves a trial to the next leader if the lease is lost during it, and answers why any other one failed", async () => {
    parameters = [{ name: "object", value: "{}" }];
    const errors = [new NotLeadingError(), new ReconcileFailure("HandlerError", "no plan")];
    tried = () => Promise.reject(errors.shift());
    await answered();
    assert.deepStrictEqual([errors, notices], [[], []]);
    assert.match(JSON.stringify(patches()[0]?.body), /"phase":"Failed","message":"HandlerError: no plan"/);
  });

  it("answers that a reconcile failed, with its message", async () => {
    outcome = () => ({
      ...REPORT,
      result: "failed",
      failure: new ReconcileFailure("HandlerError", "no plan"),
    });
    await answered();
    assert.match(JSON.stringify(patches()[0]?.body), /"phase":"Failed","message":"HandlerError: no plan"/);
  });

  it("answers that the runner may not read the object", async () => {
    parameters.push({ name: "uid", value: "demo-uid" });
    await answered();
    assert.match(JSON.stringify(patches()[0]?.body), /"phase":"Failed","message":".*403/);
    assert.deepEqual(asked, []);
  });

  it("is off where the cluster has no Argo Workflows: says so once, and begins when it has come", async () => {
    served = false;
    replay.start();
    await eventually(() => assert.ok(api.calls.length > 1, "looked again"));
    assert.deepStrictEqual(notices, [
      "Argo Workflows is not in this cluster: no submitted Workflow is answered",
    ]);
    served = true;
    await eventually(() => assert.ok(patches().length > 0, "answered"));
  });
});

describe("the target of a run", () => {
  const named = (name: string) => {
    const parameters = [
      { name: "namespace", value: "shop" },
      { name: "name", value: name },
    ];
    return runTargetOf(observed("Workflow", { spec: { arguments: { parameters } } }), operator());
  };

  it("may have any name that Kubernetes takes for objects of some kind", () => {
    for (const name of ["demo", "shop.example.com", "system:reader", "Reader"]) {
      const target = named(name);
      assert.deepEqual(target.kind === "object" && target.name, { namespace: "shop", name });
    }
  });

  it("may have a name of many digits that its submitter wrote without quotes", () => {
    const workflow = readJson(
      '{"spec":{"arguments":{"parameters":[{"name":"namespace","value":"shop"},{"name":"name","value":20241126101602123}]}}}',
    );
    const target = runTargetOf(observed("Workflow", workflow as object), operator());
    assert.deepEqual(target.kind === "object" && target.name.name, "20241126101602123");
  });

  it("has no name that would lead to another path of the API", () => {
    for (const name of ["", "..", "a/b", "a%2fb", "a\nb", "x".repeat(254)])
      assert.throws(() => named(name), RunTargetError, name);
  });

  it("has no namespace if its kind has none: the lock of its runs would be another one", () => {
    const { customResource, ...rest } = operator();
    const given = (namespace: string) =>
      runTargetOf(
        observed("Workflow", {
          spec: {
            arguments: {
              parameters: [
                { name: "namespace", value: namespace },
                { name: "name", value: "demo" },
              ],
            },
          },
        }),
        { ...rest, customResource: { ...customResource, namespaced: false } },
      );
    const target = given("");
    assert.deepEqual(target.kind === "object" && target.name, { name: "demo" });
    assert.throws(() => given("shop"), {
      message: 'parameter "namespace" is "shop", and a Widget has no namespace: leave it empty',
    });
  });
});

/** How many bytes of etcd a text needs in an object of a CRD: Go escapes more than JavaScript does. */
function storedBytes(text: string): number {
  const escapedByGo = text.match(/[<>&\u2028\u2029]/g)?.length ?? 0;
  return Buffer.byteLength(JSON.stringify(text)) + 5 * escapedByGo;
}

describe("the answer of a trial", () => {
  const tried = (word: string, length: number) =>
    triedAnswer({ children: [], status: { text: word.repeat(length / word.length) } });

  it("is whole if it is not too long", () => {
    const { text, message } = tried("a", 200_000);
    assert.equal(message, "tried, nothing applied");
    assert.equal(JSON.parse(text).status.text.length, 200_000);
  });

  for (const word of ["漢", "😀", "<b>", '"', "\\", "\n", "a"])
    it(`has room in etcd if its text is of ${JSON.stringify(word)}`, () => {
      const { text, message } = tried(word, 1_200_000);
      const stored = storedBytes(text);
      assert.ok(stored <= 1_500 * 1024, `${stored} bytes`);
      assert.match(message, /; the answer has \d+ characters, and the first \d+ are shown here$/);
      assert.match(message, new RegExp(`first ${text.length} are`));
      assert.doesNotMatch(text, /\p{Surrogate}/u);
    });
});

describe("trials", () => {
  /** The names of the objects about which the handler is asked now, each with what ends its answer. */
  let asked: Map<string, (failure?: Error) => void>;
  const names = () => [...asked.keys()];

  beforeEach(() => {
    asked = new Map();
  });

  function newTrials(concurrency: number): Trials {
    const pool = {
      hidden: () => [],
      ask: ({ object: { metadata } }: { readonly object: ReturnType<typeof widget> }) =>
        new Promise<{ answer: Record<string, unknown>; length: number; log: string }>((resolve, reject) => {
          asked.set(metadata.name, (failure) => {
            asked.delete(metadata.name);
            if (failure) reject(failure);
            else resolve({ answer: { children: [] }, length: 0, log: "" });
          });
        }),
    };
    return new Trials({ operator: operator({ concurrency }), childResources: [], pool });
  }

  /** Tries the handler on objects of these names, in this order. */
  async function tryAll(trials: Trials, ...objects: string[]): Promise<void> {
    for (const name of objects) void trials.run(widget({ name }), {}).catch(() => {});
    await turn();
  }

  async function ends(name: string, failure?: Error): Promise<void> {
    asked.get(name)?.(failure);
    await turn();
  }

  it("are at most two at once, and come in their order, however long one takes", async () => {
    await tryAll(newTrials(4), "slow", "a", "b", "c");
    assert.deepEqual(names(), ["slow", "a"]);
    await ends("a");
    assert.deepEqual(names(), ["slow", "b"]);
    await ends("b");
    assert.deepEqual(names(), ["slow", "c"]);
  });

  it("leave their place if they fail", async () => {
    const trials = newTrials(4);
    await tryAll(trials, "a", "b", "c");
    await ends("a", new Error("the handler is away"));
    assert.deepEqual(names(), ["b", "c"]);
    await Promise.all([ends("b"), ends("c")]);
    await tryAll(trials, "d", "e", "f");
    assert.deepEqual(names(), ["d", "e"]);
  });

  it("are one at a time if the operator does one thing at a time", async () => {
    await tryAll(newTrials(1), "a", "b");
    assert.deepEqual(names(), ["a"]);
    await ends("a");
    assert.deepEqual(names(), ["b"]);
  });
});
