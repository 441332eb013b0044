import { EXIT_CODES } from "./commandError";
import { explain as explanationOf } from "./inspect/explanation";
import { formatExplanation } from "./inspect/formatExplanation";
import { tellLeftOut } from "./inspect/installed";
import { lookAt } from "./inspect/look";
import { withCluster } from "./inspect/session";
import { findTarget, type NamespaceOptions, readTarget } from "./inspect/target";
import type { ClusterOptions } from "./openCluster";
import { print, progress, styleFor } from "./terminal";

/** @see explain */
export interface ExplainOptions extends ClusterOptions, NamespaceOptions {
  readonly json?: true;
}

/**
 * `argosy explain KIND/NAME`: why an object is not Ready, since when, and what to do; or what holds up its deletion.
 * @returns the exit code: 3 if the object is not in order
 */
export async function explain(text: string, options: ExplainOptions): Promise<number> {
  return withCluster(options, async (client) => {
    const target = await findTarget(client, text, options);
    const object = await readTarget(client, target);
    tellLeftOut(target);
    const known = await lookAt(client, object, target, (what) =>
      progress(`${what} cannot be read with the rights of this kubeconfig`),
    );
    const explanation = explanationOf(known);
    print(
      options.json
        ? JSON.stringify(explanation)
        : formatExplanation(explanation, known.now, styleFor(process.stdout)),
    );
    return explanation.fine ? EXIT_CODES.fine : EXIT_CODES.found;
  });
}
