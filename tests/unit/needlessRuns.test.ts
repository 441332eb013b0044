import assert from "node:assert/strict";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { deleteNeedlessRuns } from "../../runtime/pod/workflows/needlessRuns";
import { observed, operator } from "./support/objects";

const NAME = { namespace: "shop", name: "demo" };
const UID = "widget-uid";

/** A run of the object that waits for its lock. @param second of its creation */
function waiting(name: string, second: number, spec: object = {}, more: object = {}): KubernetesObject {
  const given = { ...NAME, uid: UID, ...more };
  const parameters = Object.entries(given).map(([key, value]) => ({ name: key, value }));
  const of = { workflowTemplateRef: { name: operator().name }, arguments: { parameters } };
  const content = { spec: { ...of, ...spec }, status: { phase: "Pending" } };
  const labels = { "argosy.dev/object-uid": UID };
  return observed("Workflow", content, { name, labels, creationTimestamp: `2026-01-01T00:00:0${second}Z` });
}

describe("the runs of an object that wait", () => {
  /** The names of those that are left. */
  async function leftOf(...runs: KubernetesObject[]): Promise<string[]> {
    const names = new Set(runs.map(({ metadata }) => metadata.name));
    const client = {
      list: async (_kind: unknown, _selection: unknown, take: (items: KubernetesObject[]) => void) =>
        take(runs),
      deleteVersion: async (_kind: unknown, { name }: { name: string }) => {
        names.delete(name);
        return "deleted";
      },
    } as unknown as KubernetesClient;
    const target = { kind: "object", name: NAME, uid: UID, due: undefined } as const;
    await deleteNeedlessRuns(target, {
      operator: operator(),
      client,
      namespace: "argo",
      workflow: "running",
    });
    return [...names];
  }

  it("are needless, except the newest", async () => {
    assert.deepEqual(await leftOf(waiting("b", 2), waiting("c", 3), waiting("a", 1)), ["c"]);
  });

  it("are needed if they start a schedule, which no other does", async () => {
    const daily = waiting("a", 1, {}, { schedule: "daily" });
    assert.deepEqual(await leftOf(waiting("b", 2), daily, waiting("c", 3)), ["a", "c"]);
  });

  it("are needed if somebody has suspended the newest, which sees nothing then", async () => {
    const suspended = waiting("c", 3, { suspend: true });
    assert.deepEqual(await leftOf(waiting("b", 2), suspended, waiting("a", 1)), ["b"]);
    assert.deepEqual(await leftOf(suspended), ["c"]);
  });
});
