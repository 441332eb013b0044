import assert from "node:assert/strict";
import { type Act, BASE, SCENARIOS } from "../../tools/chaos/kills/scenarios";
import type { Change } from "./support/net/memoryApi";
import { runScenario, type Trouble } from "./support/net/runScenario";

/** What a watch would tell: "MODIFIED things/one", and the how many-th of these it is. */
class Telling {
  readonly told: string[] = [];
  private readonly counts = new Map<string, number>();
  private readonly names = new Map<number, string>();

  nameOf({ version, kind, before, after }: Change): string {
    const known = this.names.get(version);
    if (known) return known;
    const verb = !before ? "ADDED" : after ? "MODIFIED" : "DELETED";
    const what = `${verb} ${kind.plural}/${(after ?? before)?.metadata.name}`;
    const count = (this.counts.get(what) ?? 0) + 1;
    this.counts.set(what, count);
    const name = `${what} #${count}`;
    this.names.set(version, name);
    this.told.push(name);
    return name;
  }
}

/** Watches are not told of these changes. */
function untold(names: readonly string[], telling = new Telling()): Trouble {
  return {
    begin: (world) => {
      world.https.intermediary = {
        tells: (change) => !names.includes(telling.nameOf(change)),
      };
    },
    after: (world) => world.resync(),
  };
}

/** Where the end depends on what was seen on the way, each change comes after the next list. */
const SLOWLY = ["once", "never", "adoption"];
const nextList: Act = ({ wait }) => wait(BASE.resyncSeconds * 1_000);
const ALL = SCENARIOS.map((each) =>
  SLOWLY.includes(each.name) ? { ...each, acts: each.acts.flatMap((act) => [act, nextList]) } : each,
);

describe("watches leave out one change or two in a row, and all is right after the next list:", () => {
  for (const scenario of ALL) {
    it(scenario.name, async () => {
      const telling = new Telling();
      const { end: wanted } = await runScenario(scenario, untold([], telling));
      const { told } = telling;
      const pairs = told.slice(1).map((other, index) => [told[index] as string, other]);
      for (const names of [...told.map((one) => [one]), ...pairs]) {
        const { end } = await runScenario(scenario, untold(names));
        assert.deepEqual(end, wanted, names.join(" and "));
      }
    });
  }
});
