import assert from "node:assert/strict";
import fc from "fast-check";
import { fieldManagerOf, finalizersOf } from "../../runtime/base/names";
import { formatName, type KubernetesObject, type Manifest } from "../../runtime/base/objects";
import { ChildStore } from "../../runtime/observe/childStore";
import { managersOf } from "../../runtime/observe/marks";
import { provenOwner } from "../../runtime/observe/ownership";
import type { Operator } from "../../runtime/operator/definition";
import type { Outcome } from "../../runtime/reconcile/report";
import { MemoryObjects } from "../../runtime/remember/memoryObjects";
import { StatusMemories, StatusWriter } from "../../runtime/remember/statusMemories";
import { ChildWriter } from "../../runtime/write/childWriter";
import { childrenIn, retain } from "./support/fakeChildren";
import { Faults, fates } from "./support/faults";
import { CLUSTER_ROLES, CONFIG_MAPS, configMap, operator, WIDGETS } from "./support/objects";
import { DELETED, ReconcileWorld } from "./support/reconcileWorld";

/** A child of an answer: in the object's namespace, in another one, or in none, where it is never updated. */
interface Answered {
  readonly where: "near" | "far" | "global";
  readonly letter: string;
  readonly isOnce: boolean;
  /** Whether it comes after the child before it. */
  readonly isAfter: boolean;
  readonly data: string;
}

const place = {
  where: fc.constantFrom("near" as const, "far" as const, "global" as const),
  letter: fc.constantFrom("a", "b", "c"),
};
const children = fc.uniqueArray(
  fc.record({
    ...place,
    isOnce: fc.boolean(),
    isAfter: fc.boolean(),
    data: fc.constantFrom("1", "2"),
  }),
  { maxLength: 4, selector: (child: Answered) => nameOf(child) },
);

/** What happens, one after another. */
const events = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.record({ what: fc.constant("answer" as const), children }) },
    { weight: 3, arbitrary: fc.record({ what: fc.constant("run" as const), fates }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant("the watches report" as const) }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant("a user deletes a child" as const), ...place }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant("another object of its name" as const) }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant("restart" as const), isRenamed: fc.boolean() }) },
  ),
  { minLength: 3, maxLength: 14 },
);

/** A rename after a child was applied. */
const RENAMED: typeof events extends fc.Arbitrary<infer Value> ? Value : never = [
  { what: "answer", children: [{ where: "near", letter: "a", isOnce: false, isAfter: false, data: "1" }] },
  { what: "run", fates: [] },
  { what: "restart", isRenamed: true },
];

/** A child that is created once, of a kind that is never updated, for which another one waits, is deleted before a run knew that it was ready. */
const GONE_TOO_SOON: typeof RENAMED = [
  {
    what: "answer",
    children: [
      { where: "global", letter: "c", isOnce: true, isAfter: false, data: "1" },
      { where: "near", letter: "a", isOnce: false, isAfter: true, data: "1" },
    ],
  },
  { what: "run", fates: ["done", "done", "lost"] },
  { what: "run", fates: ["lost"] },
  { what: "run", fates: [] },
  { what: "a user deletes a child", where: "global", letter: "c" },
];

function nameOf({ where, letter }: Pick<Answered, "where" | "letter">): string {
  return `${where}-${letter}`;
}

function manifestsOf(all: readonly Answered[]): Manifest[] {
  return all.map((child, index) => {
    const name = nameOf(child);
    const before = child.isAfter ? all[index - 1] : undefined;
    const annotations = {
      ...(child.isOnce && { "argosy.dev/once": "true" }),
      ...(before && {
        "argosy.dev/after": `${before.where === "global" ? "ClusterRole" : "ConfigMap"}/${nameOf(before)}`,
      }),
    };
    if (child.where === "global")
      return { apiVersion: CLUSTER_ROLES.apiVersion, kind: "ClusterRole", metadata: { name, annotations } };
    const namespace = child.where === "far" ? "elsewhere" : "shop";
    const metadata = { name, namespace, annotations };
    return { apiVersion: "v1", kind: "ConfigMap", metadata, data: { key: child.data } };
  });
}

/** An object, its operator, which may be renamed, and the runner of the operator, which may be started again. */
class WholeWorld extends ReconcileWorld {
  readonly faults = new Faults(this.cluster);
  answered: readonly Answered[] = [];
  private names = ["shop"];
  private store!: ChildStore;
  private childWriter!: ChildWriter;
  private lives = 0;

  constructor(private readonly update: "apply" | "recreate") {
    super();
    this.answers([]);
    this.begins();
    this.restart(false);
  }

  get operator(): Operator {
    const [name = "", ...formerNames] = this.names;
    const { children: kinds, ...others } = operator({ finalize: true, name, formerNames });
    const declared = kinds.map((each) =>
      each.kind === "ConfigMap" ? { ...each, update: this.update } : each,
    );
    return { ...others, children: declared };
  }

  answers(all: readonly Answered[]): void {
    this.answered = all;
    this.answer = { children: manifestsOf(all), status: { answered: String(all.length) } };
  }

  /** Another object has the name. */
  begins(): void {
    this.cluster.remove("Widget", { namespace: "shop", name: "widget" });
    this.given({ uid: `w${++this.lives}` });
  }

  /** The runner starts again, and its watches have listed everything. */
  restart(isRenamed: boolean): void {
    if (isRenamed) this.names.unshift(`shop${this.names.length}`);
    const shared = { ownerKind: WIDGETS, operator: this.operator };
    this.store = new ChildStore({ ...shared, client: this.cluster.client() });
    this.childWriter = new ChildWriter(this.store);
    this.reported();
  }

  /** The watches report everything until now. */
  reported(): void {
    for (const resource of [CONFIG_MAPS, CLUSTER_ROLES])
      this.store.learn(resource, this.cluster.ofKind(resource.kind));
    retain(
      this.store,
      this.there().map(({ metadata }) => metadata.uid),
    );
  }

  reconciled(): Promise<Outcome> {
    const fieldManager = fieldManagerOf(this.operator);
    const memories = new StatusMemories(new StatusWriter({ resource: WIDGETS, fieldManager }), {
      read: async () => this.object(),
      learn: () => {},
      invalidate: () => {},
    });
    const parts = { children: this.store, writer: this.childWriter, memories };
    return this.reconcile({ operator: this.operator, ...parts });
  }

  /** Reconciles without faults until all is well. */
  async settled(): Promise<Outcome> {
    for (let runs = 1; ; runs++) {
      this.reported();
      const outcome = await this.reconciled();
      if (outcome.report.result === "succeeded" && outcome.report.changes.length === 0) return outcome;
      assert.ok(runs < 12, JSON.stringify(outcome));
    }
  }

  /** Every child in the cluster. */
  there(): KubernetesObject[] {
    return [...this.cluster.ofKind("ConfigMap"), ...this.cluster.ofKind("ClusterRole")];
  }

  /** Those that no owner reference covers. */
  uncovered(): string[] {
    return this.there().flatMap(({ metadata: { name, ownerReferences } }) => (ownerReferences ? [] : [name]));
  }

  /**
   * The children that wait for one that was created once, was deleted before anything waited for it, and is not created again. Or
   * they wait for a child that waits for that one. Nothing else keeps the object from being ready.
   */
  waitingForGone(message: string): ReadonlySet<string> {
    const waits = message
      .split("; ")
      .map((reason) =>
        /^\w+ (\S+) waits for \w+ (\S+?)(, which is gone and is not created again)?$/.exec(reason),
      );
    const waiting = new Set(waits.map((wait) => wait?.[1] ?? assert.fail(message)));
    for (const [, , name = "", isGone] of waits.filter((wait) => wait !== null)) {
      if (isGone === undefined) assert.ok(waiting.has(name), message);
      else assert.ok(!this.there().some(({ metadata }) => metadata.name === name), message);
      const child = this.answered.find((each) => nameOf(each) === name);
      assert.ok(isGone === undefined || (child?.where === "global" && !child.isOnce), message);
    }
    return waiting;
  }

  /** Everything is as it was answered, under the present name of the operator, but for children that wait. */
  assertAsAnswered(waiting: ReadonlySet<string>): void {
    const managers = managersOf({ ...this.operator, formerNames: [] });
    const wanted = new Map(this.answered.map((child) => [nameOf(child), child]));
    for (const object of this.there()) {
      const { name } = object.metadata;
      const child = wanted.get(name);
      assert.ok(child, `${formatName(object.metadata)} is left`);
      wanted.delete(name);
      if (waiting.has(name)) continue;
      assert.equal(provenOwner(object, WIDGETS, managers)?.uid, this.object()?.metadata.uid);
      if (child.where !== "global") {
        assert.deepEqual(object["data"], { key: child.data });
        const writers = (object.metadata.managedFields ?? []).map(({ manager }) => manager);
        assert.deepEqual(writers, [fieldManagerOf(this.operator)]);
      }
    }
    // A user has deleted the others. They are not created again.
    for (const [name, { where, isOnce }] of wanted)
      assert.ok(isOnce || where === "global" || waiting.has(name), `${name} is missing`);
    for (const finalizer of this.object()?.metadata.finalizers ?? [])
      assert.ok(finalizersOf(this.operator).includes(finalizer), finalizer);
    assert.equal(this.status()["answered"], String(this.answered.length));
  }
}

describe("an object, whatever becomes of our writes", () => {
  it("is as its handler answered in the end, and leaves nothing elsewhere when it goes", async () => {
    const update = fc.constantFrom("apply" as const, "recreate" as const);
    await fc.assert(
      fc.asyncProperty(events, update, fates, async (all, how, last) => {
        const world = new WholeWorld(how);
        for (const event of all) {
          if (event.what === "answer") world.answers(event.children);
          else if (event.what === "run") await world.faults.during(event.fates, () => world.reconciled());
          else if (event.what === "the watches report") world.reported();
          else if (event.what === "another object of its name") world.begins();
          else if (event.what === "restart") world.restart(event.isRenamed);
          else {
            const namespace = event.where === "far" ? "elsewhere" : "shop";
            world.cluster.remove("ConfigMap", { namespace, name: nameOf(event) });
            world.cluster.remove("ClusterRole", { name: nameOf(event) });
          }
        }
        const { verdict } = await world.settled();
        const isWaiting = verdict?.kind === "progressing";
        if (!isWaiting) assert.equal(verdict?.kind, "ready");
        world.assertAsAnswered(isWaiting ? world.waitingForGone(verdict.message) : new Set());
        world.cluster.change(world.object(), { deletionTimestamp: DELETED });
        world.answer = { finalized: true };
        const isHeld = () => (world.object()?.metadata.finalizers ?? []).length > 0;
        await world.faults.during(last, () => world.reconciled());
        for (let runs = 0; runs < 4 && isHeld(); runs++) await world.reconciled();
        assert.deepEqual([isHeld(), world.uncovered()], [false, []]);
      }),
      {
        numRuns: 150,
        examples: [
          [RENAMED, "apply", []],
          [GONE_TOO_SOON, "apply", []],
        ],
      },
    );
  });
});

const NAME = { namespace: "shop", name: "widget" };
const WATCHING = { operator: operator({ watch: { labels: {}, on: ["spec"] } }) };

/** What happens to an object of others, one after another. */
const othersEvents = fc.array(
  fc.oneof(
    fc.record({
      what: fc.constant("run" as const),
      children: fc.uniqueArray(fc.constantFrom("a", "b", "far"), { maxLength: 3 }),
      fates,
    }),
    fc.record({ what: fc.constant("the watches report" as const) }),
    fc.record({ what: fc.constant("another object of its name" as const), isSeen: fc.boolean(), fates }),
  ),
  { maxLength: 14 },
);

/** An object that the operator does not own, and what is remembered of it. */
class WatchedWorld extends ReconcileWorld {
  readonly faults = new Faults(this.cluster);
  /** Each state with which the handler was asked, if it was not the one that was stored then. */
  readonly wrong: unknown[] = [];
  private readonly memories: MemoryObjects;
  private readonly store: ChildStore;
  private readonly childWriter: ChildWriter;
  private lives = 0;
  private version = 1000;
  private answers = 0;

  constructor() {
    super();
    const { cluster } = this;
    this.memories = new MemoryObjects({
      client: cluster.client(),
      operator: operator(),
      resource: WIDGETS,
      namespace: "argosy",
      isThere: (uid) => uid === this.object()?.metadata.uid,
    });
    ({ store: this.store, writer: this.childWriter } = childrenIn(cluster));
    this.whileAsking = () => {
      const memory = cluster.find("Memory", { namespace: "argosy", name: `argosy.shop.w${this.lives}` });
      const { state } = (memory?.["memory"] ?? {}) as { state?: unknown };
      const asked = this.questions.at(-1)?.state;
      if (JSON.stringify(asked) !== JSON.stringify(state)) this.wrong.push({ asked, state });
    };
    this.begins();
  }

  /** Another object has the name. */
  begins(): void {
    this.given({ uid: `w${++this.lives}` });
  }

  ends(): void {
    this.cluster.remove("Widget", NAME);
  }

  /** The watches report everything until now. */
  reported(): void {
    const children = this.cluster.ofKind("ConfigMap");
    this.store.learn(CONFIG_MAPS, children);
    retain(
      this.store,
      children.map(({ metadata }) => metadata.uid),
    );
    const sink = this.memories.sink("argosy");
    const version = String(++this.version);
    sink.listing(false, version);
    for (const memory of this.cluster.ofKind("Memory")) sink.set(memory, true);
    sink.listed(version);
  }

  answering(children: readonly string[]): void {
    const n = ++this.answers;
    const namespaceOf = (name: string) => (name === "far" ? "elsewhere" : "shop");
    this.answer = {
      children: children.map((name) =>
        configMap({ name, namespace: namespaceOf(name) }, { data: { n: String(n) } }),
      ),
      state: { n },
    };
  }

  reconciled(): Promise<Outcome> {
    const { store: children, childWriter: writer, memories } = this;
    const objects = {
      hasUid: (uid: string) => uid === this.object()?.metadata.uid,
      removedAt: () => undefined,
      readNow: async () => this.object(),
    };
    const others = { memories, objects, assertSeen: () => {}, isBlind: false };
    return this.reconcile({ ...WATCHING, children, writer, memories, others });
  }

  /** What is left of the object and of those that had its name. */
  left(): KubernetesObject[] {
    return [...this.cluster.ofKind("ConfigMap"), ...this.cluster.ofKind("Memory")];
  }
}

describe("an object of others, whatever becomes of our writes", () => {
  it("has its handler asked with the state that is stored, and leaves nothing when it goes", async () => {
    await fc.assert(
      fc.asyncProperty(othersEvents, async (all) => {
        const world = new WatchedWorld();
        for (const event of all) {
          if (event.what === "the watches report") world.reported();
          else if (event.what === "run") {
            world.answering(event.children);
            await world.faults.during(event.fates, () => world.reconciled());
          } else {
            world.ends();
            if (event.isSeen) await world.faults.during(event.fates, () => world.reconciled());
            world.begins();
          }
        }
        assert.deepEqual(world.wrong, []);
        world.ends();
        for (let runs = 0; runs < 8 && world.left().length > 0; runs++) {
          world.reported();
          await world.reconciled();
        }
        assert.deepEqual(world.left(), []);
      }),
      { numRuns: 150 },
    );
  });
});
