import assert from "node:assert/strict";
import { plain } from "../../cli/common/terminal";
import { explain } from "../../cli/inspect/explanation";
import { formatExplanation } from "../../cli/inspect/formatExplanation";
import type { Known } from "../../cli/inspect/known";
import { lookAt } from "../../cli/inspect/look";
import type { InstalledOperator } from "../../cli/inspect/readInstalled";
import type { Condition, KubernetesObject } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { ApiError } from "../../runtime/kubernetes/errors";
import { conditionsOfObject, memoryStatus } from "../../runtime/remember/memoryKind";
import { operator } from "./support/objects";

const NOW = new Date("2026-01-01T12:00:00Z");
const LABELS = { "example.com/budget": "true" };
const CUSTOM_RESOURCE = { group: "apps", version: "v1", ...builtIn("apps/v1", "Deployment") };

function watching(name: string): InstalledOperator {
  const watch = { labels: LABELS, on: ["spec"] } as const;
  return { ...operator({ name, execution: "pod", customResource: CUSTOM_RESOURCE, watch }), home: "argosy" };
}

/** A condition of the owner's: it is not what an operator says. */
const THEIRS: Condition = {
  type: "Ready",
  status: "False",
  reason: "Starting",
  message: "not yet",
  lastTransitionTime: "2026-01-01T11:00:00Z",
  observedGeneration: 1,
};

const OBJECT: KubernetesObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "shop", uid: "u", resourceVersion: "1", generation: 3, labels: LABELS },
  status: { conditions: [THEIRS] },
};

function memory(operator: string, more: Partial<Condition> = {}): KubernetesObject {
  const ready: Condition = {
    ...THEIRS,
    status: "True",
    reason: "Reconciled",
    message: "all is ready",
    observedGeneration: 3,
  };
  return {
    apiVersion: "argosy.dev/v1",
    kind: "Memory",
    metadata: {
      name: `argosy.${operator}.u`,
      namespace: "argosy",
      uid: "m",
      resourceVersion: "1",
      labels: { "argosy.dev/operator": `argosy.${operator}` },
    },
    status: memoryStatus([{ ...ready, ...more }]) as never,
    memory: { kinds: [], created: [], dueAt: "2026-01-01T12:00:30Z" },
  };
}

function known(more: Partial<Known> = {}): Known {
  return {
    object: OBJECT,
    operators: [watching("first"), watching("second")],
    unreadable: [],
    events: [],
    runs: [],
    childrenElsewhere: [],
    now: NOW,
    ...more,
  };
}

describe("an explanation of an object that others own", () => {
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
      { object: { ...OBJECT, metadata: { ...OBJECT.metadata, labels: {} } } },
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
});

describe("a look at an object that others own", () => {
  /** A cluster in which one Memory is, or none may be read. */
  const cluster = (there: KubernetesObject | Error) =>
    ({
      get: async (_: unknown, { name }: { name: string }) => {
        if (there instanceof Error) throw there;
        return name === there.metadata.name ? there : undefined;
      },
      listAll: async () => [],
    }) as unknown as KubernetesClient;
  const target = {
    operators: [watching("first"), watching("second")],
    unreadable: [],
  } as unknown as Parameters<typeof lookAt>[2];

  it("finds what any of the operators remembers", async () => {
    const found = await lookAt(cluster(memory("second")), OBJECT, target, assert.fail);
    assert.equal(found.memory?.metadata.name, "argosy.second.u");
    assert.equal(found.memoryRead, true);
  });

  it("says what it may not read", async () => {
    const unread: string[] = [];
    const refused = new ApiError(403, { reason: "Forbidden" }, "GET");
    const found = await lookAt(cluster(refused), OBJECT, target, (what) => unread.push(what));
    assert.equal(found.memoryRead, false);
    assert.deepEqual(unread, ["the operators' memory of it", "the operator's Lease"]);
  });
});
