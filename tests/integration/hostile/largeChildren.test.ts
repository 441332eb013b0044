import assert from "node:assert/strict";
import { eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

const COUNT = 9;
/** Together they are larger than a request has room for. */
const FOREIGN = "x".repeat(950_000);

describe("if another client writes so much into children that they are too large for a request", function () {
  this.timeout(120_000);
  const bench = useOperator({ name: "large-children", finalize: true });
  const children = Array.from({ length: COUNT }, (_, at) => configMap(`heavy-${at}`, { step: "1" }));

  it("the handler is asked with the metadata of the largest, to reconcile and to finalize, and a warning names them", async () => {
    const { api, operator } = bench;
    const object = await bench.applied("heavy", answering(...children));
    const largest = inNamespace(configMap("heavy-3"), bench.namespace);
    for (const child of children) {
      const foreign = child.metadata.name === "heavy-3" ? `${FOREIGN}yyy` : FOREIGN;
      await api.patch(inNamespace(child, bench.namespace), { data: { foreign } });
    }
    await eventually(async () => {
      const [warning] = (await bench.eventsOf(object)).filter(({ reason }) => reason === "ChildrenTooLarge");
      assert.match(warning?.note ?? "", /the largest: ConfigMap .*\/heavy-3\. Remove what others wrote/);
    });
    const changed = children.map((child) => ({ ...child, data: { step: "2" } }));
    await bench.applied("heavy", answering(...changed));
    const { data } = (await api.get(largest)) as unknown as { data: Record<string, string> };
    assert.deepEqual([data["step"], data["foreign"]?.length], ["2", FOREIGN.length + 3]);

    await api.delete(object);
    await eventually(() => api.assertGone(object), { timeoutMs: 20_000 });
    const asked = operator.calls("heavy").filter(({ event }) => event === "finalize");
    assert.ok(asked.length > 0, "it is not asked to finalize");
    const shown = asked[0]?.children ?? [];
    assert.equal(shown.length, COUNT);
    assert.deepEqual(
      shown.filter((child) => !("data" in child)).map(({ metadata }) => metadata.name),
      ["heavy-3"],
    );
  });
});
