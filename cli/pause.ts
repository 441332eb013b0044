import type { JsonObject } from "../runtime/kubernetes/objects";
import { annotated, PAUSED_ANNOTATION } from "../runtime/names";
import { EXIT_CODES } from "./commandError";
import { tellLeftOut } from "./inspect/installed";
import { noneHandles, whyUnknown } from "./inspect/readInstalled";
import { withCluster } from "./inspect/session";
import { findTarget, type NamespaceOptions, readTarget } from "./inspect/target";
import { formatReference, referenceTo } from "./objectReference";
import type { ClusterOptions } from "./openCluster";
import { print, progress } from "./terminal";

/** @see pause */
export interface PauseOptions extends ClusterOptions, NamespaceOptions {
  readonly json?: true;
}

/**
 * `argosy pause KIND/NAME...`: the operator does nothing for these objects, not even when they are deleted, until they are
 * resumed.
 */
export function pause(objects: readonly string[], options: PauseOptions): Promise<number> {
  return annotate(objects, options, "true");
}

/** `argosy resume KIND/NAME...`: the objects are reconciled again, at once. */
export function resume(objects: readonly string[], options: PauseOptions): Promise<number> {
  return annotate(objects, options, null);
}

async function annotate(
  objects: readonly string[],
  options: PauseOptions,
  value: "true" | null,
): Promise<number> {
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
