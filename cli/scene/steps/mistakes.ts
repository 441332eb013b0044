import type { ReconcileReport } from "../../../runtime/cli";
import type { Step } from "../scene";
import { expect, readyOf, type Stage } from "../stage";
import { BYSTANDER, CRASHING, HANGING } from "./names";

/** A handler with mistakes, which must not affect anything else. */
export const mistakeSteps: readonly Step<Stage>[] = [
  {
    title: "an exception of the handler is reported with file and line, and the handler is asked again",
    async play(stage) {
      await stage.handler.spoil();
      stage.renewHandler();
      await stage.createMemcached(CRASHING, 1);
      await stage.untilFailed(CRASHING, "HandlerError");
      const { attempt, failure, log } = await stage.untilRetried(CRASHING, "HandlerError");
      const { message = "no failure" } = failure ?? {};
      expect(
        /^main\.py:\d+ in reconcile: RuntimeError/.test(message),
        "the line of the RuntimeError",
        message,
      );
      expect(log.startsWith("Traceback"), "the traceback in the log", log || "no log");
      return `attempt ${attempt}: ${message}`;
    },
  },
  {
    title: "other objects are not held up by an exception, nor by a handler that hangs",
    async play(stage) {
      await stage.createMemcached(HANGING, 1);
      await stage.createMemcached(BYSTANDER, 1);
      await stage.untilReady(BYSTANDER, 1);
      for (const name of [CRASHING, HANGING]) {
        const object = await stage.memcached(name);
        const status = object && readyOf(object)?.status;
        expect(status !== "True", `${name} not Ready yet`, "Ready True");
      }
      return `${BYSTANDER} is Ready, ${CRASHING} and ${HANGING} are not`;
    },
  },
  {
    title: "a handler that hangs is killed, and its object is tried again",
    async play(stage) {
      await stage.untilFailed(HANGING, "HandlerTimedOut");
      const { attempt, failure } = await stage.untilRetried(HANGING, "HandlerTimedOut");
      return `attempt ${attempt}: ${failure?.message}`;
    },
  },
  {
    title: "after the handler was repaired, both objects succeed",
    async play(stage) {
      await stage.handler.mend();
      stage.renewHandler();
      const attempts: string[] = [];
      for (const name of [CRASHING, HANGING]) {
        await stage.untilReady(name, 1);
        const isSuccess = ({ result }: ReconcileReport) => result === "succeeded";
        const { attempt } = await stage.untilReported(name, "success", isSuccess);
        attempts.push(`${name} at attempt ${attempt}`);
      }
      return attempts.join(", ");
    },
  },
];
