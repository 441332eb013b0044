import { annotated, PAUSED_ANNOTATION } from "../../runtime/base/names";
import type { JsonObject } from "../../runtime/base/objects";
import { EXIT_CODES } from "../common/commandError";
import { checkObjectNames } from "../common/objectName";
import { formatReference, referenceTo } from "../common/objectReference";
import type { objectOptions, ValuesOf } from "../common/options";
import { print, progress } from "../common/terminal";
import { tellLeftOut } from "./installed";
import { noneHandles, whyUnknown } from "./readInstalled";
import { withCluster } from "./session";
import { findTarget, readTarget } from "./target";

/**
 * Pauses objects, or resumes them.
 * @param value the annotation's value, and null to remove it
 * @returns the exit code
 */
export async function annotatePaused(
  objects: readonly string[],
  options: ValuesOf<ReturnType<typeof objectOptions>>,
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
      print(
        options.json
          ? JSON.stringify({ object, state, changed })
          : `${formatReference(object)}: ${changed ? state : `was ${value === null ? "not paused" : "paused"} already`}`,
      );
    }
    return EXIT_CODES.fine;
  });
}
