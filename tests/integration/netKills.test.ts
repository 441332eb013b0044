import assert from "node:assert/strict";
import { buildMemoryDefinition } from "../../components/manifests/platform/memories";
import type { Manifest } from "../../runtime/base/objects";
import type { Fate } from "../../tools/chaos/kills/line";
import { killedAt } from "../../tools/chaos/kills/realKills";
import { KILL_KINDS } from "../../tools/chaos/kills/realWorld";
import { BASE, SCENARIOS, type Scenario } from "../../tools/chaos/kills/scenarios";
import { sideBySide } from "../support/sideBySide";
import { announceKind, sharedCluster, type TestCluster } from "./support/cluster";

/** The writes that are killed here, and how. tests/unit/netKills.test.ts kills all of them, on an API server in memory. */
const CHOSEN: Readonly<Record<string, Readonly<Record<string, readonly Fate[]>>>> = {
  create: {
    "apply configmaps/a #1": ["before", "lost", "late", "unheard"],
    "apply things/one/status #1": ["before", "lost", "late", "unheard"],
    "create events #1": ["lost"],
  },
  change: { "delete configmaps/b #1": ["before", "lost", "late"], "apply configmaps/a #2": ["late"] },
  "children elsewhere": {
    "apply things/one #1": ["lost"],
    "apply configmaps/far #1": ["lost"],
    "delete configmaps/far #1": ["before", "lost"],
    "edit things/one #1": ["before", "lost"],
  },
  once: { "apply jobs/j #1": ["before", "lost"], "apply things/one/status #1": ["lost"] },
  never: { "apply configmaps/a #1": ["lost"], "apply things/one/status #1": ["before"] },
  recreate: { "delete jobs/j #1": ["before", "lost"], "apply jobs/j #3": ["before", "lost"] },
  retired: { "delete parts/far #1": ["before", "lost"] },
  adoption: { "apply configmaps/a #2": ["before", "lost"] },
  "former name": { "apply configmaps/a #2": ["before", "lost"], "delete configmaps/b #1": ["lost"] },
  "watch with state": {
    "apply configmaps/of-x #1": ["lost"],
    "delete configmaps/of-x #1": ["before", "lost"],
  },
  finalize: {
    "apply things/one #1": ["lost"],
    "delete configmaps/far #1": ["lost"],
    "edit things/one #1": ["lost"],
  },
};

for (const kind of KILL_KINDS) announceKind(kind);

describe("killed at a write, on a real API server:", function () {
  this.timeout(600_000);
  let cluster: TestCluster;

  before(async () => {
    cluster = await sharedCluster();
    const watcher = {
      ...BASE,
      name: "kills",
      namespaces: "all",
      watch: { labels: {}, on: ["spec"] },
    } as const;
    await cluster.api.apply(buildMemoryDefinition([watcher]) as Manifest);
  });

  const scenarios = SCENARIOS.filter(({ name }) => CHOSEN[name]);
  sideBySide(Object.fromEntries(scenarios.map((scenario) => [scenario.name, () => killed(scenario)])));

  async function killed(scenario: Scenario): Promise<void> {
    const kills = Object.entries(CHOSEN[scenario.name] ?? {}).flatMap(([write, fates]) =>
      fates.map((fate) => ({ write, fate })),
    );
    const { wrong, missed } = await killedAt(cluster.connection, scenario, () => kills);
    assert.equal(wrong.length + missed.length, 0, [...wrong, ...missed].join("\n"));
  }
});
