import assert from "node:assert/strict";
import type { Fate } from "../../tools/chaos/kills/line";
import { SCENARIOS } from "../../tools/chaos/kills/scenarios";
import type { Change } from "./support/net/memoryApi";
import { changesNothing, killable, runScenario, type Trouble } from "./support/net/runScenario";

/**
 * What becomes of a write, in the words of `Fate`. "long late": it is done when everything else has happened. "late after the end": it is
 * done as soon as the object is gone.
 */
const FATES = ["before", "lost", "late", "long late", "unheard", "late after the end"] as const;
/** What becomes of one that changes nothing. */
const FATES_OF_NOTHING = ["lost", "unheard"] as const;

/** Within the same second, or the next one, in milliseconds. */
const SOON_MS = 500;

const LONG_LATE: Trouble = {
  begin: (world) => {
    world.holdsLate = true;
  },
  after: async (world) => {
    world.holdsLate = false;
    await world.rest();
    // docs/reliability.md: what such a write creates may stay until the next resync.
    await world.resync();
  },
};

const LATE_AFTER_THE_END: Trouble = {
  ...LONG_LATE,
  begin: (world) => {
    world.holdsLate = true;
    const tells = ({ kind, after }: Change) => {
      if (kind.kind === "Thing" && !after) world.clock.after(SOON_MS, () => world.line.arrive());
      return true;
    };
    world.https.intermediary = { tells };
  },
};
const LATE: Readonly<Record<string, Trouble>> = {
  "long late": LONG_LATE,
  "late after the end": LATE_AFTER_THE_END,
};

/** Writes after which the end is another one if they come late by any length of time. */
const NOT_MENDED: readonly string[] = [
  "once: apply jobs/j #1: long late",
  "never: apply configmaps/a #1: long late",
];

/** Whether an object goes. */
function hasEnd(log: readonly Change[]): boolean {
  return log.some(({ kind, after }) => kind.kind === "Thing" && !after);
}

/** These names, in the order in which an object of each is gone for the first time. */
function goneOf(log: readonly Change[], names: readonly string[]): string[] {
  const gone = log.flatMap(({ before, after }) => (before && !after ? [before.metadata.name] : []));
  return [...new Set(gone)].filter((name) => names.includes(name));
}

describe("killed at every write:", () => {
  for (const scenario of SCENARIOS) {
    it(scenario.name, async () => {
      const { order = [] } = scenario;
      const undisturbed = await runScenario(scenario);
      assert.deepEqual(goneOf(undisturbed.world.api.log, order), order);
      const wrong: string[] = [];
      for (const write of killable(undisturbed.writes)) {
        for (const fate of changesNothing(write) ? FATES_OF_NOTHING : FATES) {
          if (fate === "late after the end" && !hasEnd(undisturbed.world.api.log)) continue;
          const { end, world } = await runScenario(scenario, {
            fateOf: (name) => (name === write ? (fate in LATE ? "late" : (fate as Fate)) : undefined),
            ...LATE[fate],
          });
          const name = `${scenario.name}: ${write}: ${fate}`;
          try {
            assert.deepEqual(end, undisturbed.end);
            assert.deepEqual(goneOf(world.api.log, order), order);
          } catch (error) {
            if (!NOT_MENDED.includes(name)) wrong.push(`${name}\n${(error as Error).message}`);
          }
        }
      }
      assert.equal(wrong.length, 0, wrong.join("\n"));
    });
  }
});
