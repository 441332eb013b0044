import assert from "node:assert/strict";
import type { Use } from "../../runtime/definition/definition";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { gatherUsed, type UsedSource } from "../../runtime/uses/used";
import { failureOf } from "./support/failures";
import { observed, widget } from "./support/objects";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps" };
const OPERATOR = { installation: "argosy", name: "shop", formerNames: [], namespaces: "all" } as const;

describe("gatherUsed", () => {
  /** How often the source was asked for an object. */
  let reads: number;
  const source = (found?: KubernetesObject): UsedSource => ({
    problemOf: async () => undefined,
    get: async () => {
      reads++;
      return found;
    },
    list: async () => {
      reads++;
      return [];
    },
  });
  const gather = (
    use: Partial<Use>,
    list: string[],
    event: "reconcile" | "finalize",
    found?: KubernetesObject,
  ) =>
    gatherUsed(
      { ...OPERATOR, uses: { mounts: { ...CONFIG_MAP, ...use } } },
      widget({}, { spec: { list } }),
      event,
      source(found),
    );
  beforeEach(() => {
    reads = 0;
  });

  for (const use of [{ name: "spec.list[*]" }, { labels: { team: "spec.list[*]" } }]) {
    it(`reads nothing of more than 500 that an object names by ${Object.keys(use)}, and does not keep it from going`, async () => {
      const list = Array.from({ length: 501 }, (_, index) => `name-${index}`);
      const { reason, message } = await failureOf(() => gather(use, list, "reconcile"));
      assert.equal(reason, "UsedNotReadable");
      assert.match(message, /^uses\.mounts: the object names more than 500 objects, or values of a label\./);
      const { used, warnings } = await gather(use, list, "finalize");
      assert.deepEqual([used, warnings], [{ mounts: [] }, [{ reason: "UsedNotReadable", note: message }]]);
      assert.equal(reads, 0);
      await gather(use, list.slice(1), "reconcile");
      assert.ok(reads > 0);
    });
  }

  it("fails if all of it is longer than 8 Mi characters, and does not keep an object from going", async () => {
    const large = observed("ConfigMap", { data: { text: "x".repeat(1024 * 1024) } }, { name: "a" });
    const list = Array.from({ length: 9 }, (_, index) => `name-${index}`);
    const use = { name: "spec.list[*]" };
    const { reason, message } = await failureOf(() => gather(use, list, "reconcile", large));
    assert.equal(reason, "UsedNotReadable");
    const { used, warnings } = await gather(use, list, "finalize", large);
    assert.deepEqual([used, warnings.map(({ note }) => note)], [{ mounts: [] }, [message]]);
    assert.equal((await gather(use, list.slice(2), "reconcile", large)).warnings.length, 0);
  });
});
