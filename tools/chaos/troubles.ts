import type { Fault } from "./fault";
import type { Player } from "./player";
import { TROUBLES } from "./spec";

/** The namespace of children elsewhere is deleted with everything in it, and created again. */
export function namespaceFault(player: Pick<Player, "renewFar">): Fault {
  return {
    kind: "namespace of children elsewhere: deleted, and created again",
    begin: async () => {
      await player.renewFar();
      return undefined;
    },
  };
}

/** Handlers that fail for some of the objects for a while. */
export function troubleFaults(player: Pick<Player, "trouble">): Fault[] {
  return TROUBLES.map((trouble) => ({
    kind: `handler: ${trouble}`,
    begin: async ({ seconds, pick }) => {
      // A third of the objects.
      player.trouble(trouble, seconds, (at) => (at + pick) % 3 === 0);
      return async () => {};
    },
  }));
}
