import assert from "node:assert/strict";
import { plain } from "../../cli/common/terminal";
import { explain } from "../../cli/inspect/explanation";
import { formatExplanation } from "../../cli/inspect/formatExplanation";
import type { Known } from "../../cli/inspect/known";
import { lookAt } from "../../cli/inspect/look";
import type { InstalledOperator } from "../../cli/inspect/readInstalled";
import type { Condition, KubernetesObject, ObjectMeta } from "../../runtime/base/objects";
import { builtIn } from "../../runtime/kubernetes/discovery";
import type { Operator } from "../../runtime/operator/definition";
import { conditionsOfObject, memoryStatus } from "../../runtime/remember/memoryKind";
import { clusterToLookAt } from "./support/clusterToLookAt";
import { observed, operator } from "./support/objects";

const NOW = new Date("2026-01-01T12:00:00Z");
const EARLIER = "2026-01-01T11:00:00Z";
const DEPLOYMENTS = builtIn("apps/v1", "Deployment");
const READY: Condition = {
  type: "Ready",
  status: "True",
  reason: "Reconciled",
  message: "all is ready",
  lastTransitionTime: EARLIER,
  observedGeneration: 3,
};

function object(metadata: Partial<ObjectMeta> = {}, more: object = {}): KubernetesObject {
  const content = { apiVersion: "apps/v1", ...more };
  return observed("Deployment", content, { name: "web", uid: "u", generation: 3, ...metadata });
}

const DELETED = object({ deletionTimestamp: EARLIER, finalizers: ["argosy.dev/argosy.web"] });

function installed(name: string, more: Partial<Operator> = {}): InstalledOperator {
  const customResource = { group: "apps", version: "v1", ...DEPLOYMENTS };
  return { ...operator({ name, customResource, ...more }), home: "ops" };
}

function lease(identity: string, holderIdentity = "laptop"): KubernetesObject {
  const spec = { holderIdentity, renewTime: new Date().toISOString(), leaseDurationSeconds: 15 };
  return observed("Lease", { spec }, { name: `argosy-${identity}`, namespace: "argosy" });
}

/** What an operator remembers of {@link object}. */
function memory(operator: string, more: Partial<Condition> = {}): KubernetesObject {
  const labels = { "argosy.dev/operator": `argosy.${operator}` };
  return {
    ...observed("Memory", {}, { name: `argosy.${operator}.u`, namespace: "argosy", labels }),
    status: memoryStatus([{ ...READY, ...more }]) as never,
    memory: { kinds: [], created: [], dueAt: "2026-01-01T12:00:30Z" },
  };
}

/** A cluster, and what the account of the command may not read in it. */
interface Cluster {
  readonly operators?: readonly InstalledOperator[];
  readonly there?: readonly KubernetesObject[];
  readonly refused?: readonly string[];
}

/** What a look at an object finds in a cluster. */
async function lookIn({ operators = [], there = [], refused = [] }: Cluster, of = object()) {
  const client = clusterToLookAt(there, (_, kind) => refused.includes(kind));
  const target = { resource: DEPLOYMENTS, name: of.metadata, operators, unreadable: [] };
  const unread: string[] = [];
  const found = await lookAt(client, of, target, (what) => unread.push(what));
  return { found, unread };
}

/** What `argosy explain` says then. */
async function explained(of: KubernetesObject, cluster: Cluster) {
  const { found, unread } = await lookIn(cluster, of);
  assert.ok(cluster.refused || unread.length === 0, unread.join());
  return explain(found);
}

describe("an explanation where argosy dev runs the operators", () => {
  it("knows the operator that holds up a deletion", async () => {
    const { summary, leader } = await explained(DELETED, { there: [lease("argosy.web")] });
    assert.match(summary, /its handler has not returned "finalized": true\.$/);
    assert.equal(leader, "laptop");
    for (const other of [lease("argosy.other"), lease("argosy.web", "")])
      assert.match(
        (await explained(DELETED, { there: [other] })).summary,
        /is not installed in this cluster/,
      );
  });

  it("names only those children that are in other namespaces", async () => {
    const deleted = object(
      { deletionTimestamp: EARLIER, finalizers: ["elsewhere.argosy.dev/argosy.web"] },
      { status: { argosy: { kinds: ["v1/ConfigMap"], uid: "u" } } },
    );
    const children = ["shop", "other"].map((namespace) => observed("ConfigMap", {}, { namespace }));
    const { summary } = await explained(deleted, { there: [lease("argosy.web"), ...children] });
    assert.match(summary, /still exist: ConfigMap other\/child\.$/);
  });

  it("has what an operator that watches the object remembers", async () => {
    const there = [lease("argosy.cache"), lease("argosy.notify"), memory("notify")];
    const { summary, operator } = await explained(object(), { there });
    assert.deepEqual([summary, operator], ["It is Ready.", "notify"]);
  });

  it("says of an object that none of them handled that no operator is installed", async () => {
    const { summary } = await explained(object(), { there: [lease("argosy.cache")] });
    assert.match(summary, /It was never handled: .* No operator for Deployment is installed/);
  });

  it("names the operator that wrote the status last, not the one of its former name", async () => {
    const wrote = (name: string, minute: number) => ({
      manager: `argosy/argosy.${name}`,
      subresource: "status",
      time: `2026-01-01T11:0${minute}:00Z`,
    });
    const managedFields = [wrote("old", 1), wrote("new", 2), wrote("older", 0)];
    const { operator } = await explained(object({ managedFields }, { status: { conditions: [READY] } }), {});
    assert.equal(operator, "new");
  });
});

describe("an explanation where an operator is installed", () => {
  const runner = (replicas: number, readyReplicas?: number) =>
    object({ name: "web-runner", namespace: "ops" }, { spec: { replicas }, status: { readyReplicas } });

  for (const [there, why, remedy] of [
    [
      [runner(0)],
      ": the operator is scaled to zero",
      /^Scale it .*: kubectl -n ops scale deployment web-runner --replicas=1$/,
    ],
    [
      [],
      ": the operator has no Deployment web-runner in ops",
      /^Run pulumi up --refresh\. If .* was deleted, /,
    ],
    [
      [runner(1)],
      ": the operator has no ready runner",
      /^See why: kubectl -n ops describe deployments,pods --selector app\.kubernetes\.io\/name=web$/,
    ],
    [[runner(1, 1)], "", /^See why: npm run argosy -- logs web$/],
  ] as const) {
    it(`says of an object that waits for a runner why none leads: "${why}"`, async () => {
      const cluster = { operators: [installed("web")], there };
      const { summary, advice } = await explained(DELETED, cluster);
      assert.equal(summary, `It is being deleted, and no runner of argosy.web leads${why}.`);
      assert.equal(advice.length, 1);
      assert.match(advice[0] ?? "", remedy);
      const never = await explained(object(), cluster);
      const start = "It was never handled: it has no Ready condition.";
      assert.equal(never.summary, `${start} No runner of argosy.web leads${why}.`);
      assert.deepEqual(never.advice, advice);
    });
  }

  it("says that no runner leads without the right to see its Deployment, and nothing without the right to see the Lease", async () => {
    const of = async (kind: string) =>
      (await explained(DELETED, { operators: [installed("web")], refused: [kind] })).summary;
    assert.equal(await of("Deployment"), "It is being deleted, and no runner of argosy.web leads.");
    assert.match(await of("Lease"), /its handler has not returned "finalized": true\.$/);
  });

  it("looks at the runner of the operator that handles the object's namespace", async () => {
    const operators = [
      installed("other", { namespaces: ["team-a"] }),
      installed("web", { namespaces: ["shop"] }),
    ];
    const { leader, summary } = await explained(DELETED, { operators, there: [lease("argosy.web")] });
    assert.equal(leader, "laptop");
    assert.match(summary, /its handler has not returned "finalized": true\.$/);
  });
});

const LABELS = { "example.com/budget": "true" };
const WATCHING = ["first", "second"].map((name) =>
  installed(name, { execution: "pod", watch: { labels: LABELS, on: ["spec"] } }),
);
/** A condition of the owner's: it is not what an operator says. */
const THEIRS: Condition = { ...READY, status: "False", reason: "Starting", message: "not yet" };
const WATCHED = object({ labels: LABELS }, { status: { conditions: [THEIRS] } });

describe("an explanation of an object that others own", () => {
  const known = (more: Partial<Known> = {}): Known => ({
    object: WATCHED,
    operators: WATCHING,
    unreadable: [],
    events: [],
    runs: [],
    childrenElsewhere: [],
    now: NOW,
    ...more,
  });

  it("has what the operator remembers of it, and none of the owner's conditions", () => {
    const { fine, summary, operator, conditions, advice, message } = explain(
      known({ memory: memory("second") }),
    );
    assert.deepEqual(
      { fine, summary, operator, conditions, advice, message },
      {
        fine: true,
        summary: "It is Ready.",
        operator: "second",
        conditions: [],
        advice: [],
        message: "all is ready",
      },
    );
  });

  for (const [more, summary] of [
    [
      { memory: memory("first", { status: "False", reason: "HandlerError" }) },
      "It is not Ready: its reconcile fails.",
    ],
    [
      { memory: memory("first", { observedGeneration: 2 }) },
      "Its generation 3 was not handled yet; the conditions are about generation 2.",
    ],
    [{}, "It was never handled: first remembers nothing about it."],
    [
      { object: object() },
      "No operator handles it: first watches only objects with the labels example.com/budget=true.",
    ],
    [
      { memoryRead: false },
      "It is not known whether it was handled, because the memory of first about it cannot be read.",
    ],
  ] as [Partial<Known>, string][]) {
    it(`says: ${summary}`, () => {
      const said = explain(known(more));
      assert.equal(said.summary, summary);
      assert.equal(said.fine, false);
      assert.notDeepEqual(said.advice, []);
    });
  }

  it("is printed with a space after each name, however long", () => {
    const long = memory("first");
    const conditions = [...conditionsOfObject(long), { ...THEIRS, type: "Progressing" }];
    const status = memoryStatus(conditions) as never;
    const text = formatExplanation(explain(known({ memory: { ...long, status } })), NOW, plain);
    assert.match(text, /^ {2}Progressing False: Starting, not yet$/m);
  });

  it("has of a look what any of the operators remembers, or that this may not be read", async () => {
    const there = [memory("second")];
    const { found, unread } = await lookIn({ operators: WATCHING, there }, WATCHED);
    assert.equal(found.memory?.metadata.name, "argosy.second.u");
    assert.deepEqual([found.memoryRead, unread], [true, []]);
    const refused = await lookIn({ operators: WATCHING, refused: ["Memory", "Lease"] }, WATCHED);
    assert.equal(refused.found.memoryRead, false);
    assert.deepEqual(refused.unread, ["the operators' memory of it", "the operator's Lease"]);
  });
});
