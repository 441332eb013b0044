import assert from "node:assert/strict";
import type { Manifest } from "../../runtime/base/objects";
import { type Ground, SCENARIOS, THINGS, thing } from "../../tools/chaos/kills/scenarios";
import { killable, runScenario, type Trouble, together } from "./support/net/runScenario";
import { withoutHistory } from "./support/net/withoutHistory";

/** How far the watches are behind, in milliseconds. */
const BEHIND_MS = 500;
const KEY = "example.com/last";

/** What users change at a moment of their own choice: what is wanted, and something that no child shows. */
const CHANGE = together(
  thing(() => ({
    children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "z" }, data: { v: "z" } }],
  })),
  ({ objects, namespace }: Ground) =>
    objects.apply(
      { ...THINGS, metadata: { name: "one", namespace, annotations: { [KEY]: "yes" } } } as Manifest,
      "other",
    ),
);

/** Those of whose object there is one at the end. */
/** An object is about to go. */
const GOING = ["expiry", "not finalized yet", "deleted and created again", "deleted without its children"];
const LASTING = SCENARIOS.filter(({ name, remembers }) => !remembers && !GOING.includes(name));

/** When the change comes: before our write, after it and before its answer, and after it with every watch behind that. */
const MOMENTS = ["before", "before the answer", "before the echo"] as const;

function at(write: string, moment: (typeof MOMENTS)[number]): Trouble {
  let changing: Promise<unknown> | undefined;
  return {
    begin: (world) => {
      const change = (name: string) => {
        if (name !== write || changing) return undefined;
        if (moment === "before the echo") {
          world.https.hold();
          world.clock.after(BEHIND_MS, () => world.https.release());
        }
        changing = CHANGE(world.ground);
        return changing;
      };
      world.https.intermediary = moment === "before" ? { before: change } : { after: change };
    },
  };
}

describe("another client changes an object at a write of ours:", () => {
  for (const scenario of LASTING) {
    it(scenario.name, async () => {
      const first = { ...scenario, acts: scenario.acts.slice(0, 1) };
      const { writes } = await runScenario(first);
      const { end: wanted } = await runScenario({ ...first, acts: [...first.acts, CHANGE] });
      for (const write of killable(writes)) {
        for (const moment of MOMENTS) {
          const { end, world } = await runScenario(first, at(write, moment));
          assert.deepEqual(withoutHistory(end), withoutHistory(wanted), `${write}: ${moment}`);
          const last = world.questions.findLast(({ object }) => object.kind === "Thing");
          assert.equal(last?.object.metadata.annotations?.[KEY], "yes", `${write}: ${moment}`);
        }
      }
    });
  }
});
