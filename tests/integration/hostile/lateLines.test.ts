import assert from "node:assert/strict";
import { eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { useOperator } from "../support/useOperator";

const LATE_MS = 150;

/**
 * A handler that writes its answer a second time, a moment later, where the object's spec says so. While another answer is
 * waited for, that line could be taken for it.
 */
const HANDLER = `
const { createInterface } = require("node:readline");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, object } = JSON.parse(line);
  const { name, annotations = {} } = object.metadata;
  const { repeats, silent, delayMs = 0, echoes = true } = object.spec;
  const step = annotations["argosy.dev/reconcile-at"] ?? "first";
  const data = { of: name, step };
  const children = [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data }];
  const answer = JSON.stringify({ ...(echoes && { id }), children }) + "\\n";
  setTimeout(() => process.stdout.write(answer), step === "first" ? 0 : delayMs);
  if (repeats && step === "first") setTimeout(() => process.stdout.write(answer), ${LATE_MS});
});
`;

describe("a line that a handler writes too late", function () {
  this.timeout(60_000);
  // One process, so that one object's line can meet the other's.
  const bench = useOperator({ name: "late-lines", handler: HANDLER, concurrency: 1 });

  it("is never the answer about the next object", async () => {
    const [first, second] = ["repeats", "after"];
    const apply = (name: string, spec: object) =>
      bench.api.apply({ ...bench.operator.object(name, {}, bench.namespace), spec: { ...spec } });
    const slow = await apply(second, { delayMs: 4 * LATE_MS });
    await bench.ready(slow);
    await bench.ready(await apply(first, { repeats: true }));
    await bench.api.annotate(slow, { "argosy.dev/reconcile-at": "again" });
    await eventually(async () => assert.deepEqual(await dataOf(second), { of: second, step: "again" }));
    assert.deepEqual(await dataOf(first), { of: first, step: "first" });
    assert.deepEqual(bench.failuresOf(second), []);
  });

  it("is never the next answer about the same object", async () => {
    const spec = { repeats: true, delayMs: 4 * LATE_MS };
    const object = await bench.api.apply({ ...bench.operator.object("same", {}, bench.namespace), spec });
    await bench.ready(object);
    await bench.api.annotate(object, { "argosy.dev/reconcile-at": "again" });
    await eventually(async () => assert.deepEqual(await dataOf("same"), { of: "same", step: "again" }));
    assert.deepEqual(bench.failuresOf("same"), []);
  });

  it("cannot come from a handler that does not echo the id: its first answer is refused in words", async () => {
    const spec = { echoes: false };
    const object = await bench.api.apply({ ...bench.operator.object("mute", {}, bench.namespace), spec });
    const { message } = await bench.failed(object, "InvalidAnswer");
    assert.match(message, /\bid\b/);
    await bench.api.assertGone(inNamespace(configMap("mute"), bench.namespace));
  });

  async function dataOf(name: string): Promise<unknown> {
    return (await bench.api.get(inNamespace(configMap(name), bench.namespace)))["data"];
  }
});
