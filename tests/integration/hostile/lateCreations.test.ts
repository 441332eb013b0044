import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type KubernetesObject, type Manifest, SERVER_METADATA } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { answering } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

const OPERATOR = { name: "late-creations", resyncSeconds: 10 };
/** How long after the end of their objects children are created, in milliseconds. */
const DELAYS = [0, 300, 700, 1_200, 2_500];

describe("children elsewhere that a killed leader creates after the end of their objects", function () {
  this.timeout(90_000);
  const bench = useOperators([OPERATOR]);

  for (const who of ["the leader that has finalized them", "a standby that leads by then"] as const)
    it(`are deleted, although their creation times have whole seconds: by ${who}`, async () => {
      const operator = await bench.install(OPERATOR);
      const elsewhere = await bench.api.newNamespace("late-creations-far");
      const first = await operator.start();
      await eventually(() => assert.ok(first.controller.isLeading));
      await operator.start({ identity: "two" });
      const scenes = await Promise.all(
        DELAYS.map(async (delayMs) => {
          const child = inNamespace(configMap(`late-${delayMs}`), elsewhere);
          const plan = answering(child);
          const object = await bench.api.apply(operator.object(`late-${delayMs}`, plan, bench.namespace));
          await bench.ready(object);
          return { delayMs, object, child: await bench.api.get(child) };
        }),
      );
      const ended = scenes.map(async ({ object, child }) => {
        await bench.api.delete(object);
        await eventually(() => bench.api.assertGone(object), { pollMs: 20 });
        await bench.api.assertGone(child);
      });
      const isKilled = who !== "the leader that has finalized them";
      if (isKilled) {
        await Promise.all(ended);
        await first.stop();
      }
      await Promise.all(
        scenes.map(async ({ delayMs, child }, at) => {
          await ended[at];
          await sleep(delayMs);
          const late = await bench.api.apply(asAnswered(child), operator.fieldManager);
          await eventually(() => bench.api.assertGone(late));
        }),
      );
    });

  /** A child as it was applied. */
  function asAnswered({ metadata, ...content }: KubernetesObject): Manifest {
    const own = Object.entries(metadata).filter(([field]) => !(SERVER_METADATA as string[]).includes(field));
    return { ...content, metadata: Object.fromEntries(own) as unknown as Manifest["metadata"] };
  }
});
