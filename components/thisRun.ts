import * as pulumi from "@pulumi/pulumi";

/**
 * What all components of one run of a program have together: made when the first of them asks for it, and the same for all of them.
 */
export function onceForEachRun<Kept extends object>(make: () => Kept): () => Kept {
  const kept = new WeakMap<object, Kept>();
  return () => {
    const run = thisRun();
    const known = kept.get(run) ?? make();
    kept.set(run, known);
    return known;
  };
}

/** A client of Pulumi's engine, as far as it says where the engine is. A mock does not. */
interface EngineClient {
  readonly getChannel?: () => { readonly getTarget: () => string };
}

/**
 * The same object for all of one run of a program. In a plugin each component has clients of its own, so the addresses count and not
 * the clients. Each run has two addresses of its own.
 */
function thisRun(): object {
  const clients = [pulumi.runtime.getMonitor(), pulumi.runtime.getEngine()] as (EngineClient | undefined)[];
  const [monitor, engine] = clients.map((client) => client?.getChannel?.().getTarget());
  return monitor === undefined ? (clients[0] ?? OUTSIDE) : runAt(`${monitor} ${engine}`);
}

/** The run of a component that is created outside Pulumi. */
const OUTSIDE = {};

/** The runs of this process by their addresses, the oldest first. */
const runs = new Map<string, object>();
/**
 * A process may run many programs by Pulumi's Automation API, one after another or at the same time. What the ended ones have kept is
 * not needed.
 */
const MOST_RUNS = 1_000;

function runAt(addresses: string): object {
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
