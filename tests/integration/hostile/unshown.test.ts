import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type KubernetesObject, type Manifest, SERVER_METADATA } from "../../../runtime/base/objects";
import { always } from "../../support/eventually";
import { inNamespace } from "../support/manifests";
import type { ObjectPlan } from "../support/testOperator";
import { statusOf, useOperator } from "../support/useOperator";
import { useWatching } from "../support/useWatching";

/** How long the handler takes that makes a value, in milliseconds. */
const MAKES_MS = 1_500;

/** Makes a password, or a Secret with another name, if it is shown no Secret: see docs/recipes.md. */
const MAKER = `
require("node:readline").createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, object: { metadata: { name }, spec }, children: [known] } = JSON.parse(line);
  if (!known) await new Promise((resolve) => setTimeout(resolve, ${MAKES_MS}));
  const metadata = { name, ...(spec.far && { namespace: spec.far }) };
  if (spec.renames) metadata.name = known?.metadata.name ?? name + "-" + crypto.randomUUID();
  const data = { password: known?.data.password ?? btoa(crypto.randomUUID()) };
  console.log(JSON.stringify({ id, children: [{ apiVersion: "v1", kind: "Secret", metadata, data }] }));
});
`;

describe("while a handler is asked that was shown no child, and makes a value only once,", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "slow-maker", children: ["v1/Secret"], handler: MAKER });

  for (const place of ["near", "far"])
    for (const renames of [false, true])
      it(`a child ${place} comes into sight, and it stays as it is${renames ? ": it is not deleted" : ""}`, async () => {
        const far = place === "far" && (await bench.api.newNamespace("far"));
        const plan = { ...(far && { far }), ...(renames && { renames }) } as ObjectPlan;
        await bench.applied("made", plan);
        const at = far || bench.namespace;
        const secrets = async () =>
          (await bench.api.list({ apiVersion: "v1", kind: "Secret" }, at)).filter(({ metadata }) =>
            metadata.name.startsWith("made"),
          );
        const [child] = await secrets();
        assert.ok(child);
        await bench.idle();
        await bench.api.delete(child);
        await sleep(MAKES_MS / 3);
        const late = await bench.api.apply(asAnswered(inNamespace(child, at)), bench.operator.fieldManager);
        await sleep(MAKES_MS);
        await bench.idle();
        await always(
          async () => {
            const kept = (await secrets()).find(({ metadata }) => metadata.uid === late.metadata.uid);
            assert.deepEqual(kept?.["data"], child["data"]);
          },
          { forMs: 1_000 },
        );
      });
});

/** Makes a serial number if its object has none. */
const NUMBERER = `
require("node:readline").createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, object: { status } } = JSON.parse(line);
  if (!status?.serial) await new Promise((resolve) => setTimeout(resolve, ${MAKES_MS}));
  console.log(JSON.stringify({ id, children: [], status: { serial: status?.serial ?? crypto.randomUUID() } }));
});
`;

describe("while a handler is asked that makes a field of its status only once,", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "slow-numberer", handler: NUMBERER });

  it("the write of a former leader comes late, and the field keeps its value", async () => {
    const object = await bench.applyObject("numbered");
    await sleep(MAKES_MS / 3);
    await bench.api.applyStatus(object, { serial: "late" }, { manager: bench.operator.fieldManager });
    await sleep(MAKES_MS);
    await bench.idle();
    await always(async () => assert.equal(statusOf(await bench.api.get(object))["serial"], "late"), {
      forMs: 1_000,
    });
    await bench.ready(object);
  });
});

/** Makes a serial number if it remembers none of its object. */
const REMEMBERER = `
require("node:readline").createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, state } = JSON.parse(line);
  if (!state?.serial) await new Promise((resolve) => setTimeout(resolve, ${MAKES_MS}));
  console.log(JSON.stringify({ id, children: [], state: { serial: state?.serial ?? crypto.randomUUID() } }));
});
`;

describe("while a handler is asked that makes a part of its state only once,", function () {
  this.timeout(60_000);
  const bench = useWatching();

  it("the write of a former leader comes late, and the part keeps its value", async () => {
    const operator = await bench.install({ handler: REMEMBERER });
    const first = await bench.leading(operator);
    const object = await bench.watched(operator, "remembered");
    const { metadata, ...late } = await bench.settled(operator, object);
    await first.stop();
    await bench.api.delete({ ...late, metadata });
    await bench.leading(operator);
    await sleep(MAKES_MS / 3);
    await bench.api.apply(asAnswered({ ...late, metadata }), operator.fieldManager);
    await sleep(2 * MAKES_MS);
    assert.deepEqual((await bench.memory(operator, object)).memory["state"], late.memory["state"]);
    await bench.settled(operator, object);
  });
});

/** A child as it was applied. */
function asAnswered({ metadata, ...content }: Manifest | KubernetesObject): Manifest {
  const own = Object.entries(metadata).filter(([field]) => !(SERVER_METADATA as string[]).includes(field));
  return { ...content, metadata: Object.fromEntries(own) as unknown as Manifest["metadata"] };
}
