import { realpathSync } from "node:fs";
import { type Announcement, listening } from "../../definition/announcement";
import { loadOperators, loadOperatorsInOrder } from "../../definition/loadOperators";
import { Problems } from "../../definition/problems";
import type { Operator } from "../../runtime/cli";
import { CommandError, UsageError } from "../common/commandError";
import type { OperatorsOptions } from "../common/options";
import { findHandlers, findProject, loaderOf, type OperatorLoader } from "../common/project";
import { renderStack } from "./renderStack";

/** The operators that a command works on. */
export interface OperatorSource extends OperatorLoader {
  /** The folders of all operators, without symbolic links. */
  readonly folders: readonly string[];
}

/**
 * The operators of a folder as they are defined; with a stack, those that its program deploys, with its overrides. The
 * program is run once, without Pulumi's engine and without a cluster.
 *
 * @throws UsageError, and CommandError for a program that cannot be run or deploys no operators
 */
export async function operatorSource(options: OperatorsOptions): Promise<OperatorSource> {
  const { handlers, stack, platform, project } = options;
  if (stack === undefined) {
    if (platform !== undefined) throw new UsageError("--platform is for a stack. Give --stack too.");
    const folder = realpathSync(findHandlers(options));
    return { folders: [folder], ...loaderOf(folder) };
  }
  if (handlers !== undefined) {
    throw new UsageError("--stack uses the operators of the program. Leave out --handlers.");
  }
  const heard: Announcement[] = [];
  await listening(
    (announcement) => void heard.push(announcement),
    () => renderStack(findProject(project), stack, platform),
  );
  return sourceOf(heard, stack);
}

function sourceOf(heard: readonly Announcement[], stack: string): OperatorSource {
  const used = new Set(heard.flatMap((each) => ("used" in each ? each.used.map(keyOf) : [])));
  if (used.size === 0) throw new CommandError(`The program deploys no operators in the stack ${stack}.`);
  const sources = heard
    .flatMap((each) => ("loaded" in each ? [each] : []))
    .filter(({ loaded }) => loaded.some((operator) => used.has(keyOf(operator))));
  // A program may load more operators than it deploys. Operators that were added to the folder since then count.
  const loaded = sources.flatMap((source) => source.loaded.map(keyOf));
  const unused = new Set(loaded.filter((key) => !used.has(key)));
  const wanted = (operators: readonly Operator[]) => {
    const used = operators.filter((operator) => !unused.has(keyOf(operator)));
    // If the program loads a folder twice, each of its operators occurs twice.
    return [...new Map(used.map((operator) => [keyOf(operator), operator])).values()];
  };
  return {
    folders: [...new Set(sources.map(({ folder }) => realpathSync(folder)))],
    load: () => wanted(sources.flatMap(({ folder, options }) => loadOperators(folder, options))),
    loadInOrder: () => {
      const all = sources.map(({ folder, options }) => loadOperatorsInOrder(folder, options));
      const problems = new Problems();
      for (const { error } of all) if (error) problems.add(error);
      const operators = wanted(all.flatMap((each) => each.operators));
      return { operators, ...(problems.found && { error: problems.toError() }) };
    },
  };
}

/** Identifies an operator among all that a program loads. A folder of operators may be loaded for several installations. */
function keyOf({ folder, installation }: Operator): string {
  return `${installation} ${folder}`;
}
