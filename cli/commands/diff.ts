import { loadOperators } from "../../definition/loadOperators";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { KubernetesClient, Operator } from "../../runtime/cli";
import { asTyped } from "../common/asTyped";
import { command } from "../common/declaration";
import { checkNames } from "../common/objectName";
import { chosenOperators, findHandlers } from "../common/project";
import { progress } from "../common/terminal";
import { whyLeftOut } from "../diff/deployed";
import { liveObject } from "../diff/liveObject";
import type { ObjectPreview } from "../diff/preview";
import { liveObjects, previewAll, withPreviews } from "../diff/session";
import {
  conclude,
  deployedAs,
  notServed,
  type PreviewCommandOptions,
  previewOptions,
  show,
} from "../diff/show";
import { installedOperators } from "../inspect/installed";
import type { InstalledOperators } from "../inspect/readInstalled";
import { withCluster } from "../inspect/session";

/**
 * `argosy diff [OPERATOR | KIND/NAME ...]`: what the handlers of this working tree would change for every live object of
 * their operators, or for single objects. Nothing is written.
 *
 * @returns the exit code: 3 if something would change, 1 if a handler fails or a child is refused
 * @throws UsageError for an operator or an object that is not there
 */
export default command({
  description:
    "Asks the handlers of this folder about every live object of their operators, and tries each returned child as " +
    "a server-side dry run. Nothing is written. The exit code is 3 if something would change. Handlers get the field " +
    "dryRun, and fakes instead of the values of Secrets. Operators with rules or secretEnv are left out unless they are " +
    "named.",
  arguments: [["[names...]", "operators, or objects as KIND/NAME (default: all operators)"]],
  options: previewOptions(),
  async run(names, options) {
    checkNames(names);
    const operators = loadOperators(findHandlers(options));
    return withCluster(options, async (client, connection) => {
      const installed = await installedOperators(client);
      const found: ObjectPreview[] = [];
      for (const { operator, objects } of await chosen(client, operators, names, installed, options)) {
        const session = deployedAs(operator, installed, options);
        await withPreviews(
          session,
          { connection, withSecrets: options.withSecrets, eventual: options.eventual },
          async (previews) => {
            const live = objects ?? (await liveObjects(previews, options.namespace));
            if (!live) {
              progress(notServed(operator));
              return;
            }
            await previewAll(previews, live, (preview) => found.push(show(preview, options)));
          },
        );
      }
      return conclude(found, options);
    });
  },
});

interface Choice {
  readonly operator: Operator;
  /** Undefined: every live object. */
  readonly objects?: readonly KubernetesObject[];
}

async function chosen(
  client: KubernetesClient,
  operators: readonly Operator[],
  names: readonly string[],
  installed: InstalledOperators,
  options: PreviewCommandOptions,
): Promise<Choice[]> {
  const named = names.filter((name) => !name.includes("/"));
  const choices: Choice[] = [];
  if (names.length === 0 || named.length > 0) {
    for (const operator of chosenOperators(operators, named)) {
      const why = named.length === 0 ? whyLeftOut(operator) : undefined;
      if (why === undefined) choices.push({ operator });
      else
        progress(
          `${operator.name}: left out, because ${why}. To include it: ${asTyped(`diff ${operator.name}`, options)}`,
        );
    }
  }
  for (const name of names.filter((each) => each.includes("/"))) {
    const { operator, object } = await liveObject(client, name, operators, installed, options);
    choices.push({ operator, objects: [object] });
  }
  return choices;
}
