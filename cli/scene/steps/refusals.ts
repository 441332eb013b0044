import { ApiError } from "../../../runtime/cli";
import type { Step } from "../scene";
import { expect, type Stage } from "../stage";
import { SESSIONS } from "./names";

/** More instances than the handler accepts. */
const TOO_LARGE = 51;

/** Specifications that are refused. The last good children stay as they are. */
export const refusalSteps: readonly Step<Stage>[] = [
  {
    title: "a spec that the schema refuses never reaches the handler",
    async play(stage) {
      const before = await stage.versionOfChildren(SESSIONS);
      const refusal = await stage.resize(SESSIONS, -1).then(
        () => "the API server accepted it",
        (error: unknown) => {
          if (error instanceof ApiError && error.code === 422) return error;
          throw error;
        },
      );
      expect(refusal instanceof ApiError, "a refusal by the API server", String(refusal));
      await expectUntouched(stage, before);
      return refusal.causes[0]?.message ?? refusal.message;
    },
  },
  {
    title: "a spec that the handler refuses is reported, and changes no child",
    async play(stage) {
      const before = await stage.versionOfChildren(SESSIONS);
      await stage.resize(SESSIONS, TOO_LARGE);
      const ready = await stage.untilFailed(SESSIONS, "HandlerError");
      const note = await stage.untilEvent(SESSIONS, "HandlerError");
      expect(ready.status === "False", "the Ready condition False", ready.status);
      expect(note === ready.message, `an Event with the note "${ready.message}"`, `"${note}"`);
      await expectUntouched(stage, before);
      await stage.resize(SESSIONS, 3);
      await stage.untilReady(SESSIONS, 3);
      return `condition and Event say "${note}"; Ready again with the old size`;
    },
  },
];

async function expectUntouched(stage: Stage, before: string): Promise<void> {
  const after = await stage.versionOfChildren(SESSIONS);
  expect(after === before, before, after);
}
