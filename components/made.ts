import { setTimeout as pause } from "node:timers/promises";
import type { Makes } from "../preflight/checkLosses";
import type { Manifest } from "../runtime/program";
import type { Cluster } from "./cluster";
import { onceForEachRun } from "./thisRun";

/** What the components of a program make in one cluster. */
interface Made {
  /** The objects that bear the program's mark, each as "kind name". */
  readonly objects: Set<string>;
  /** The address of the API server. Undefined as long as no component has looked into the cluster. */
  server: string | undefined;
}

/** What the components of a program make, by the identities of their clusters. */
const clusters = onceForEachRun("made", () => new Map<unknown, Made>());

function madeIn({ identity }: Cluster): Made {
  const known = clusters();
  const made = known.get(identity) ?? { objects: new Set(), server: undefined };
  known.set(identity, made);
  return made;
}

/** Notes that a component makes these objects, which bear the program's mark. */
export function noteMade(cluster: Cluster, manifests: readonly Manifest[]): void {
  const { objects } = madeIn(cluster);
  for (const manifest of manifests) objects.add(keyOf(manifest));
}

function keyOf({ kind, metadata }: Parameters<Makes>[0]): string {
  return `${kind} ${metadata.name}`;
}

/** How long one component may come after another one. A program may read the output of another stack meanwhile. */
const LATE_MS = 5_000;
const POLL_MS = 50;

/**
 * Says whether a component of this program makes an object in this cluster. A component counts unless its cluster is certainly
 * another one: two addresses differ. Called before the component waits for anything, since later the run may be forgotten: see
 * `onceForEachRun`.
 * @returns the answer for a cluster whose API server has this address
 */
export function makesIn(cluster: Cluster): (server: string | undefined) => Makes {
  const here = madeIn(cluster);
  const all = clusters();
  return (server) => {
    here.server = server;
    return makesAt(server, here, all);
  };
}

function makesAt(server: string | undefined, here: Made, all: ReadonlyMap<unknown, Made>): Makes {
  const isMade = (key: string) =>
    [...all.values()].some(
      (made) =>
        (made === here || made.server === undefined || made.server === server) && made.objects.has(key),
    );
  const deadline = Date.now() + LATE_MS;
  return async (object) => {
    const key = keyOf(object);
    while (!isMade(key) && Date.now() < deadline) await pause(POLL_MS);
    return isMade(key);
  };
}
