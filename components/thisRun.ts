import * as pulumi from "@pulumi/pulumi";

/** What is kept for the runs of programs in this process. */
interface Shared {
  /** The runs by their addresses, the oldest first. */
  readonly runs: Map<string, object>;
  /** What is kept for each run, by its name. */
  readonly kept: Map<string, WeakMap<object, object>>;
}

/**
 * The key is the same in every copy of this package: one program may have components of several copies, since each of its packages may
 * bring its own.
 */
const SHARED = Symbol.for("@argosy-dev/argosy:runs");
const place = globalThis as { [SHARED]?: Shared };

function shared(): Shared {
  place[SHARED] ??= { runs: new Map(), kept: new Map() };
  return place[SHARED];
}

/**
 * What all components of one run of a program have together: made when the first of them asks for it, and the same for all of them.
 * @param name the same in every copy of this package. Copies of other versions use it too: a value of another form needs another name
 */
export function onceForEachRun<Kept extends object>(name: string, make: () => Kept): () => Kept {
  return () => {
    const { kept } = shared();
    const ofRuns = kept.get(name) ?? new WeakMap<object, object>();
    kept.set(name, ofRuns);
    const run = thisRun();
    const known = (ofRuns.get(run) as Kept | undefined) ?? make();
    ofRuns.set(run, known);
    return known;
  };
}

/** A client of Pulumi's engine, as far as it says where the engine is. A mock does not. */
interface EngineClient {
  readonly getChannel?: () => { readonly getTarget: () => string };
}

/**
 * The same object for all of one run of a program. All components that are created outside Pulumi count as one run. In a plugin each
 * component has clients of its own, so the addresses count and not the clients. Each run has two addresses of its own.
 */
function thisRun(): object {
  const clients = [pulumi.runtime.getMonitor(), pulumi.runtime.getEngine()] as (EngineClient | undefined)[];
  const [monitor, engine] = clients.map((client) => client?.getChannel?.().getTarget());
  return monitor === undefined ? (clients[0] ?? globalThis) : runAt(`${monitor} ${engine}`);
}

/**
 * A process may run many programs by Pulumi's Automation API, one after another or at the same time. What the ended ones have kept is
 * not needed.
 */
const MOST_RUNS = 1_000;

function runAt(addresses: string): object {
  const { runs } = shared();
  const run = runs.get(addresses) ?? {};
  runs.set(addresses, run);
  const [oldest] = runs.keys();
  if (runs.size > MOST_RUNS && oldest !== undefined) runs.delete(oldest);
  return run;
}

/** Whether this process runs the whole program: the stack is here. A plugin is only asked for one component after another. */
export function isWholeProgram(): boolean {
  return pulumi.runtime.getStackResource() !== undefined;
}
