import {
  type Run,
  runScenario as runIn,
  type Trouble as TroubleIn,
} from "../../../../tools/chaos/kills/runScenario";
import type { Scenario } from "../../../../tools/chaos/kills/scenarios";
import type { ServedKind } from "./memoryApi";
import { NetWorld } from "./netWorld";

export { changesNothing, killable, together } from "../../../../tools/chaos/kills/runScenario";

/** What goes wrong in a run in memory. */
export type Trouble = TroubleIn<NetWorld>;

/** Runs a scenario to its end in a world of its own in memory. @param more kinds that its API server serves as well */
export function runScenario(
  scenario: Scenario,
  trouble: Trouble = {},
  more: readonly ServedKind[] = [],
): Promise<Run<NetWorld>> {
  return runIn(new NetWorld(scenario, more), trouble);
}
