import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Manifest } from "../../../runtime/base/objects";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { awaitKind } from "../../../runtime/kubernetes/discovery";
import { Objects } from "../../objects";
import type { Fate } from "./line";
import { KILL_KINDS, RealWorld } from "./realWorld";
import { changesNothing, killable, type Run, runScenario } from "./runScenario";
import { COMPARED, SCENARIOS, type Scenario } from "./scenarios";

/** One write of a scenario, and what becomes of it. */
export interface Kill {
  /** "apply configmaps/a #1" */
  readonly write: string;
  readonly fate: Fate;
}

/** What came of the kills of a scenario. */
export interface KillResult {
  /** How many writes were killed. */
  readonly met: number;
  /** The kills after which the end is another one, or that came to no end, and why. */
  readonly wrong: readonly string[];
  /** The kills whose write was not met: on a real API server, how often something is written may differ from run to run. */
  readonly missed: readonly string[];
}

/** How many runs, of all scenarios, go on at once. Each waits most of its time. */
const AT_ONCE = 12;
/** On a busy machine, what others do may take this long, in milliseconds. */
const PATIENCE_MS = 60_000;
/** The undisturbed run has no other to be compared with: it gets this long, in milliseconds. */
const SETTLED_MS = 3_000;
const LOOK_MS = 200;
const FATES: readonly Fate[] = ["before", "lost", "late", "unheard"];
const FATES_OF_NOTHING: readonly Fate[] = ["lost", "unheard"];

/** The numbers of runs are equally long, so that no name of a run is part of another's. */
let begun = 1_000;
let running = 0;
const waiting: (() => void)[] = [];

/** Runs a scenario when fewer than {@link AT_ONCE} run. @throws the signal's reason, before it begins */
async function run(
  connection: ClusterConnection,
  scenario: Scenario,
  signal?: AbortSignal,
  { kill, wanted }: { readonly kill?: Kill; readonly wanted?: Run["end"] } = {},
): Promise<Run> {
  while (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  running += 1;
  try {
    signal?.throwIfAborted();
    begun += 1;
    const world = await RealWorld.begin(scenario, connection, `kill-${process.pid}-${begun}`);
    const after = async () => {
      const until = performance.now() + PATIENCE_MS;
      if (!wanted) await sleep(SETTLED_MS);
      else
        while (!isDeepStrictEqual(await world.snapshot(), wanted) && performance.now() < until)
          await sleep(LOOK_MS);
    };
    const fateOf = (name: string) => (name === kill?.write ? kill.fate : undefined);
    return await runScenario<RealWorld>(world, { fateOf, after });
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

/**
 * Kills an engine at writes of a scenario on a real API server, which has the CRDs of `KILL_KINDS` and of Memories.
 * @param kills by the writes of the run in which nothing goes wrong
 * @throws Error if that run does not come to its end, or if nothing is written in it; the signal's reason
 */
export async function killedAt(
  connection: ClusterConnection,
  scenario: Scenario,
  kills: (writes: readonly string[]) => readonly Kill[],
  signal?: AbortSignal,
): Promise<KillResult> {
  const { writes: all, end: wanted } = await run(connection, scenario, signal);
  if (all.length === 0) throw new Error("nothing was written");
  const missed: string[] = [];
  const wrong: string[] = [];
  const chosen = kills(all);
  const killed = chosen.map(async (kill) => {
    const name = `${kill.write}: ${kill.fate}`;
    try {
      const { writes, end } = await run(connection, scenario, signal, { kill, wanted });
      if (!writes.includes(kill.write)) missed.push(`${name}: it is not among ${writes.join(", ")}`);
      assert.deepEqual(end, wanted);
    } catch (error) {
      wrong.push(`${name}: ${(error as Error).message}`);
    }
  });
  await Promise.all(killed);
  signal?.throwIfAborted();
  return { met: chosen.length - missed.length, wrong, missed };
}

/** Installs the kinds of the scenarios. Resolves when the API server serves them. @param memories the CRD of Memories */
export async function installKinds(
  connection: ClusterConnection,
  memories: Manifest,
  signal: AbortSignal,
): Promise<void> {
  const objects = new Objects(connection, "kubectl");
  for (const definition of [...KILL_KINDS, memories]) await objects.apply(definition);
  for (const { apiVersion, kind } of COMPARED)
    await awaitKind(objects.client, apiVersion, kind, { signal, onWait: () => {} });
  objects.close();
}

/**
 * Kills an engine at every write of every scenario that needs no hours, on a real API server: see {@link installKinds}.
 * @param progress called with a line for each scenario
 * @param found called with each kill after which the end is another one, and why
 * @returns how many kills there were, and how many were wrong
 * @throws the signal's reason, when what has begun has ended
 */
export async function killedAtAll(
  connection: ClusterConnection,
  progress: (line: string) => void,
  found: (wrong: string) => void,
  signal: AbortSignal,
): Promise<{ readonly kills: number; readonly failed: number }> {
  const every = (writes: readonly string[]) =>
    killable(writes).flatMap((write) =>
      (changesNothing(write) ? FATES_OF_NOTHING : FATES).map((fate) => ({ write, fate })),
    );
  const scenarios = SCENARIOS.filter(({ isReal = true }) => isReal);
  let [ended, kills, failed] = [0, 0, 0];
  const all = scenarios.map(async (scenario) => {
    const { met, wrong } = await killedAt(connection, scenario, every, signal).catch((error: Error) => ({
      met: 0,
      wrong: [`without a kill: ${error.message}`],
    }));
    signal.throwIfAborted();
    [ended, kills, failed] = [ended + 1, kills + met, failed + wrong.length];
    const place = `${ended} of ${scenarios.length} scenarios: ${scenario.name}`;
    progress(`${place}: ${met} kills, ${wrong.length} wrong`);
    for (const each of wrong) found(`${scenario.name}: ${each}`);
  });
  await Promise.allSettled(all);
  signal.throwIfAborted();
  return { kills, failed };
}
