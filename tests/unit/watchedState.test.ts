import assert from "node:assert/strict";
import fc from "fast-check";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { ChildStore } from "../../runtime/observe/childStore";
import type { Outcome } from "../../runtime/reconcile/report";
import { MemoryObjects } from "../../runtime/remember/memoryObjects";
import type { ChildWriter } from "../../runtime/write/childWriter";
import { childrenIn, retain } from "./support/fakeChildren";
import { Faults, fates } from "./support/faults";
import { CONFIG_MAPS, configMap, operator, WIDGETS } from "./support/objects";
import { ReconcileWorld } from "./support/reconcileWorld";

const NAME = { namespace: "shop", name: "widget" };
const WATCHING = { operator: operator({ watch: { labels: {}, on: ["spec"] } }) };

/** What happens to an object, one after another. */
const events = fc.array(
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
      fc.asyncProperty(events, async (all) => {
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
