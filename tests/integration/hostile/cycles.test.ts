import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject, Manifest } from "../../../runtime/base/objects";
import { always, eventually } from "../../support/eventually";
import type { TestOperator, TestOperatorOptions } from "../support/testOperator";
import { conditionOf } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

/** A handler that answers one object of a kind, whose name is an expression over the object's own. */
function answering(apiVersion: string, kind: string, name: string): string {
  return `
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, object: { metadata } } = JSON.parse(line);
      const child = { apiVersion: "${apiVersion}", kind: "${kind}", metadata: { name: ${name} } };
      process.stdout.write(JSON.stringify({ id, children: [child] }) + "\\n");
    });`;
}

/** An operator of a kind whose objects lead to objects of another kind. */
function leadingTo(name: string, kind: string, childName: string): TestOperatorOptions {
  const apiVersion = `${name.split("-")[0]}.example.com/v1`;
  return { name, children: [{ apiVersion, kind }], handler: answering(apiVersion, kind, childName) };
}

const LONGER = 'metadata.name + "x"';
const EACH_OTHER = [leadingTo("cycle-one", "CycleTwo", LONGER), leadingTo("cycle-two", "CycleOne", LONGER)];
const SAME_NAME = [
  leadingTo("twin-one", "TwinTwo", "metadata.name"),
  leadingTo("twin-two", "TwinOne", "metadata.name"),
];

describe("operators whose children are objects of each other", function () {
  this.timeout(180_000);
  const bench = useOperators([...EACH_OTHER, ...SAME_NAME]);

  /** Installs the operators before the first of them starts, since each needs the kinds of the others. */
  async function start(all: readonly TestOperatorOptions[]): Promise<TestOperator[]> {
    const operators = await Promise.all(all.map((each) => bench.install(each)));
    await Promise.all(operators.map((operator) => operator.start()));
    return operators;
  }
  const first = (operators: readonly TestOperator[]): Manifest => {
    assert.ok(operators[0]);
    return operators[0].object("x", {}, bench.namespace);
  };
  async function objectsOf(operators: readonly TestOperator[]): Promise<KubernetesObject[]> {
    const kinds = operators.map((operator) => operator.object("x"));
    return (await Promise.all(kinds.map((kind) => bench.api.list(kind, bench.namespace)))).flat();
  }
  const levels = (objects: readonly KubernetesObject[]) =>
    objects.map(({ metadata: { name } }) => name.length).sort((a, b) => a - b);

  it("two that create each other's objects end after twelve steps, say so, and leave nothing behind", async () => {
    const operators = await start(EACH_OTHER);
    const object = await bench.api.apply(first(operators));
    const last = await eventually(async () => {
      const found = (await objectsOf(operators)).find(({ metadata }) => metadata.name.length === 13);
      assert.ok(found);
      const { reason, message } = conditionOf(found, "Ready");
      assert.equal(reason, "ChildCycle", message);
      return found;
    });
    assert.equal(conditionOf(last, "Stalled").status, "True");
    assert.equal(last.metadata.annotations?.["argosy.dev/level"], "12");
    const thirteen = Array.from({ length: 13 }, (_, index) => index + 1);
    await always(async () => assert.deepEqual(levels(await objectsOf(operators)), thirteen), {
      forMs: 3_000,
    });
    await bench.api.delete(object);
    await eventually(async () => assert.deepEqual(await objectsOf(operators), []), { timeoutMs: 60_000 });
  });

  it("two that lead to objects of the same name report a conflict, and nothing else happens", async () => {
    const operators = await start(SAME_NAME);
    const object = await bench.api.apply(first(operators));
    const [, two] = operators;
    assert.ok(two);
    const other = two.object("x", {}, bench.namespace);
    const conflict = await eventually(async () => {
      const ready = conditionOf(await bench.api.get(other), "Ready");
      assert.equal(ready.reason, "ChildConflict");
      return ready;
    });
    assert.match(conflict.message, /^TwinOne \S+\/x does not belong to this object/);
    await sleep(2_000);
    assert.equal((await bench.api.get(object)).metadata.ownerReferences, undefined);
    await bench.api.delete(object);
    await eventually(async () => assert.deepEqual(await objectsOf(operators), []), { timeoutMs: 60_000 });
  });
});
