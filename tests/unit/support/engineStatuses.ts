import { PAUSED_ANNOTATION } from "../../../runtime/base/names";
import type { KubernetesObject } from "../../../runtime/base/objects";
import { SCENARIOS, type Scenario, THINGS, thing } from "../../../tools/chaos/kills/scenarios";
import { runScenario } from "./net/runScenario";

/** The net has no pause: nothing is written then. */
const PAUSED: Scenario = {
  name: "paused",
  given: thing(() => ({ children: [] })),
  acts: [
    ({ objects, namespace }) =>
      objects.patch(
        { ...THINGS, metadata: { name: "one", namespace } },
        { metadata: { annotations: { [PAUSED_ANNOTATION]: "" } }, spec: { more: 1 } },
      ),
  ],
};

/** Every version of every custom resource in the scenarios of the net, as an API server in memory stored it for the real engine. */
export async function engineStatuses(): Promise<readonly KubernetesObject[]> {
  const objects: KubernetesObject[] = [];
  for (const scenario of [...SCENARIOS, PAUSED]) {
    const { world } = await runScenario(scenario);
    for (const { kind, after } of world.api.log) if (kind.kind === THINGS.kind && after) objects.push(after);
  }
  return objects;
}
