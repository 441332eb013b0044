import assert from "node:assert/strict";
import type { JsonObject } from "../../runtime/base/objects";
import { Late } from "../../tools/chaos/kills/inProcess";
import { type Act, type Handler, type Scenario, thing } from "../../tools/chaos/kills/scenarios";
import type { Change } from "./support/net/memoryApi";
import type { NetWorld } from "./support/net/netWorld";
import { killable, runScenario } from "./support/net/runScenario";

/** How long a handler takes that makes a value, and when the write of a former leader comes, in milliseconds. */
const [MAKES_MS, COMES_MS] = [4_000, 2_000];

/** A handler that makes each value once: passwords of children near and elsewhere, and a field of its object's status or its state. */
function maker(onMaking: () => void): Handler {
  let made = 0;
  return ({ object, event, children, state }) => {
    if (event === "finalize") return { finalized: true };
    const before = made;
    const passwordOf = (name: string) =>
      children.find(({ kind, metadata }) => kind === "Secret" && metadata.name === name)?.[
        "data"
      ] as JsonObject;
    const isOurs = object.kind === "Thing";
    const { v, far } = (isOurs ? (object["spec"] as JsonObject)["answer"] : object["data"]) as JsonObject;
    const secrets = [{ name: "near" }, { name: "far", namespace: far }];
    const list = secrets.map((metadata) => {
      const password = passwordOf(metadata.name)?.["password"] ?? btoa(String(++made));
      return { apiVersion: "v1", kind: "Secret", metadata, data: { password, v: btoa(String(v)) } };
    });
    const known = (isOurs ? object["status"] : state) as JsonObject | undefined;
    const said = { serial: known?.["serial"] ?? ++made };
    const answer = { children: list, ...(isOurs ? { status: said } : { state: said }) } as JsonObject;
    if (made === before) return answer;
    onMaking();
    return new Late(MAKES_MS, answer);
  };
}

/** The values that were replaced, and the children that were deleted. */
function lost(log: readonly Change[]): string[] {
  const madeIn = (object: Change["after"]) =>
    (object?.["data"] as JsonObject)?.["password"] ??
    (object?.["status"] as JsonObject)?.["serial"] ??
    ((object?.["memory"] as JsonObject)?.["state"] as JsonObject)?.["serial"];
  return log
    .filter(({ before, after }) => madeIn(before) !== undefined && madeIn(before) !== madeIn(after))
    .map(({ before }) => `${before?.kind} ${before?.metadata.name}`);
}

const own = (v: string): Act => thing(({ far }) => ({ v, far }));
const others =
  (v: string): Act =>
  ({ objects, namespace, far }) =>
    objects.apply({
      ...{ apiVersion: "v1", kind: "ConfigMap", data: { v, far } },
      metadata: { name: "w", namespace, labels: { watched: "yes" } },
    });
const SCENES: readonly Scenario[] = [
  { name: "an object of our own", acts: [own("1"), own("2")] },
  {
    name: "an object of others",
    operator: () => ({
      customResource: { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true },
      watch: { labels: { watched: "yes" }, on: ["spec"] },
    }),
    acts: [others("1"), others("2")],
  },
];

describe("a former leader's write comes while a handler makes values, and what it wrote is kept:", () => {
  for (const scenario of SCENES)
    it(scenario.name, async () => {
      let world: NetWorld | undefined;
      let arrived = 0;
      const handler = maker(() => {
        const place = world;
        place?.clock.after(COMES_MS, () => {
          if (place.line.arrive()) arrived++;
        });
      });
      const begin = (place: NetWorld) => {
        world = place;
        place.holdsLate = true;
      };
      const undisturbed = await runScenario(scenario, { handler });
      for (const write of killable(undisturbed.writes)) {
        const run = await runScenario(scenario, {
          ...{ handler, begin },
          fateOf: (name) => (name === write ? "late" : undefined),
        });
        assert.deepEqual(lost(run.world.api.log), [], write);
      }
      assert.ok(arrived > 0);
    });
});
