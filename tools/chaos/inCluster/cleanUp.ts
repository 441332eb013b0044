import { until } from "../../../cli/common/until";
import { persist } from "../persist";
import { type Administrator, RESOURCES } from "./administrator";
import type { Program } from "./program";
import type { ChaosStack } from "./stack";

/** Everything that a run has created. */
export interface Made {
  readonly administrator: Administrator;
  readonly namespaces: readonly string[];
  readonly program: Program;
  readonly stack: ChaosStack;
}

const NAMESPACES_GONE_MS = 240_000;

/**
 * Removes everything that a run has created.
 * @throws Error if something cannot be removed, after printing how to do it by hand
 */
export async function cleanUp(made: Made, progress: (line: string) => void): Promise<void> {
  const { administrator, namespaces, program, stack } = made;
  const { client } = administrator;
  progress("pulumi destroy");
  try {
    await stack.destroy((why) => progress(`pulumi destroy has failed, trying again: ${why}`));
    for (const name of namespaces) await client.delete(RESOURCES.namespace, { name });
    const patience = { patienceMs: NAMESPACES_GONE_MS };
    for (const name of namespaces) {
      const isGone = async () => !(await persist(() => client.get(RESOURCES.namespace, { name }), patience));
      const what = `namespace ${name} is gone`;
      await until(isGone, { what, deadlineMs: NAMESPACES_GONE_MS, pollMs: 1_000 });
    }
    program.remove();
  } catch (error) {
    progress(`the cluster could not be cleaned up: ${(error as Error).message.trim()}`);
    progress("To do it by hand:");
    tellHow(made, progress);
    throw error;
  }
}

/** Prints how to remove the remaining objects by hand. */
export function tellHow(
  { stack, namespaces }: Pick<Made, "stack" | "namespaces">,
  progress: (line: string) => void,
): void {
  progress(stack.destroyCommand);
  progress(`kubectl delete namespace ${namespaces.join(" ")}`);
}
