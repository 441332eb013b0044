import type { Fate, Line } from "./line";
import type { Act, Handler, Scenario } from "./scenarios";

/** One cluster, and the processes of one operator in it, one after the other. */
export interface World {
  readonly scenario: Scenario;
  readonly line: Line;
  handler: Handler;
  /** The handler of the processes that begin after one has died. Undefined: the same. */
  nextHandler: Handler | undefined;
  /** Whether what is late arrives only when a test says so. */
  holdsLate: boolean;
  /** Starts a process. @param definition @default that of the scenario */
  start(definition?: Scenario["operator"]): void;
  /** Users do something, and all programs come to rest. */
  act(act: Act): Promise<void>;
  /** Waits until the process that lives leads, nothing has happened for a while, and what was late has arrived. */
  rest(): Promise<void>;
  /** The process ends by itself. */
  stop(): Promise<void>;
  /** Every object by its name, without what differs from run to run. */
  snapshot(): Promise<Record<string, unknown>>;
  /** Every world must end. */
  end(): void | Promise<void>;
}

/** What goes wrong in a run of a scenario. */
export interface Trouble<Place extends World = World> {
  /** What becomes of each write after what was given. At most one has a fate. @default it is done and answered */
  readonly fateOf?: (write: string) => Fate | undefined;
  /** The handler of all processes. @default it answers what the object's spec says */
  readonly handler?: Handler;
  /** The handler of the processes that begin after the first one has died. @default the same */
  readonly nextHandler?: Handler;
  /** Called when all that was given is at rest, and nothing has happened yet. */
  readonly begin?: (world: Place) => void;
  /** What happens when the last act is at rest. */
  readonly after?: (world: Place) => Promise<void>;
}

/** What a run has left. */
export interface Run<Place extends World = World> {
  /** The names of all writes after what was given, in order. */
  readonly writes: readonly string[];
  /** Every object at the end. */
  readonly end: Record<string, unknown>;
  readonly world: Place;
}

/** Runs the scenario of a world to its end. */
export async function runScenario<Place extends World>(
  world: Place,
  trouble: Trouble<Place> = {},
): Promise<Run<Place>> {
  const { before, given, acts, operator } = world.scenario;
  const writes: string[] = [];
  let isMet = false;
  const decide = (name: string): Fate | undefined => {
    if (name.includes(" leases")) return undefined;
    writes.push(name);
    const fate = isMet ? undefined : trouble.fateOf?.(name);
    if (fate) isMet = true;
    return fate;
  };
  if (trouble.handler) world.handler = trouble.handler;
  world.nextHandler = trouble.nextHandler;
  try {
    world.start(before ?? operator);
    await world.rest();
    if (given) await world.act(given);
    if (before) await world.stop();
    world.line.decide = decide;
    trouble.begin?.(world);
    if (before) world.start();
    for (const act of acts) await world.act(act);
    await trouble.after?.(world);
    return { writes, end: await world.snapshot(), world };
  } finally {
    await world.end();
  }
}

/** The writes that can be killed: what fails is tried again and again, and its later tries say nothing new. */
export function killable(writes: readonly string[]): string[] {
  return [...new Set(writes)].filter((each) => /#[1-3]$/.test(each));
}

/** Whether a write is an event, or a try: it changes nothing that is compared, so it makes no difference whether it is done. */
export function changesNothing(write: string): boolean {
  return /^try | events /.test(write);
}

/** Acts of a user as one act. */
export function together(...acts: readonly Act[]): Act {
  return async (ground) => {
    for (const act of acts) await act(ground);
  };
}
