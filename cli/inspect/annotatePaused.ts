import { z } from "zod";
import { annotated, PAUSED_ANNOTATION } from "../../runtime/base/names";
import type { JsonObject } from "../../runtime/base/objects";
import { EXIT_CODES } from "../common/commandError";
import { checkObjectNames } from "../common/objectName";
import { formatReference, OBJECT_REFERENCE, referenceTo } from "../common/objectReference";
import { objectOptions, type ValuesOf } from "../common/options";
import { print, progress } from "../common/terminal";
import { tellLeftOut } from "./installed";
import { noneHandles, whyUnknown } from "./readInstalled";
import { withCluster } from "./session";
import { findTarget, readTarget } from "./target";

/** The options of commands that pause or resume objects. */
export const pauseOptions = () =>
  objectOptions(
    z.strictObject({
      object: OBJECT_REFERENCE,
      state: z.enum(["paused", "resumed"]),
      changed: z.boolean().describe("Whether it was in the other state before."),
    }),
  );

/**
 * Pauses objects, or resumes them.
 * @param value the annotation's value, and null to remove it
 * @returns the exit code
 */
export async function annotatePaused(
  objects: readonly string[],
  options: ValuesOf<ReturnType<typeof pauseOptions>>,
  value: "true" | null,
): Promise<number> {
  checkObjectNames(objects);
  return withCluster(options, async (client) => {
    for (const text of objects) {
      const target = await findTarget(client, text, options);
      const wasPaused = annotated((await readTarget(client, target)).metadata, PAUSED_ANNOTATION);
      const patch: JsonObject = { metadata: { annotations: { [PAUSED_ANNOTATION]: value } } };
      await client.mergePatch(target.resource, target.name, patch);
      const changed = wasPaused !== (value !== null);
      const object = referenceTo(target.resource, target.name);
      if (value !== null && target.operators.length === 0) {
        tellLeftOut(target);
        const ifNone = whyUnknown(target) === undefined ? "Only" : "If none is, only";
        progress(`${noneHandles(target.resource.kind, target)} ${ifNone} argosy dev respects this pause.`);
      }
      const state = value === null ? "resumed" : "paused";
      const told = changed ? state : value === null ? "was not paused" : "was paused already";
      if (options.json) options.json({ object, state, changed });
      else print(`${formatReference(object)}: ${told}`);
    }
    return EXIT_CODES.fine;
  });
}
