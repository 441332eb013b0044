import { finalizerOf } from "../../../runtime/base/names";
import type { Step } from "../scene";
import { expect, type Stage } from "../stage";
import { SESSIONS } from "./names";

/** The end of a Memcached. */
export const deletionSteps: readonly Step<Stage>[] = [
  {
    title: "a deleted Memcached is finalized, and its children are deleted with it",
    async play(stage) {
      const finalizer = finalizerOf(stage.operator);
      const finalizers = (await stage.memcached(SESSIONS))?.metadata.finalizers ?? [];
      expect(finalizers.includes(finalizer), `the finalizer ${finalizer}`, finalizers.join(", ") || "none");
      await stage.deleteMemcached(SESSIONS);
      await stage.until("the Memcached is gone", async () => !(await stage.memcached(SESSIONS)) || undefined);
      await stage.until("its children are gone", async () => {
        const children = [await stage.deployment(SESSIONS), await stage.service(SESSIONS)];
        return children.every((child) => child === undefined) || undefined;
      });
      await stage.untilReported(SESSIONS, "finalizing", ({ event, result }) => {
        return event === "finalize" && result === "succeeded";
      });
      return `finalizer ${finalizer}, Deployment and Service gone`;
    },
  },
];
