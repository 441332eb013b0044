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
/** A process may run one program after another, by Pulumi's Automation API. What the earlier ones have kept is not needed. */
const MOST_RUNS = 20;

function runAt(addresses: string): object {
  const run = runs.get(addresses) ?? {};
  runs.set(addresses, run);
  const [oldest] = runs.keys();
  if (runs.size > MOST_RUNS && oldest !== undefined) runs.delete(oldest);
  return run;
}
