import { EXIT_CODES } from "../common/commandError";
import { command } from "../common/declaration";
import { checkObjectNames } from "../common/objectName";
import { objectOptions } from "../common/options";
import { print, progress, styleFor } from "../common/terminal";
import { EXPLANATION, explain } from "../inspect/explanation";
import { formatExplanation } from "../inspect/formatExplanation";
import { tellLeftOut } from "../inspect/installed";
import { lookAt } from "../inspect/look";
import { withCluster } from "../inspect/session";
import { findTarget, readTarget } from "../inspect/target";

/**
 * `argosy explain KIND/NAME`: why an object is not Ready, since when, and what to do; or what holds up its deletion.
 * @returns the exit code: 3 if the object is not in order
 */
export default command({
  description:
    "Explains why an object in a cluster is not Ready: since when, which attempt is next, the handler's last words " +
    "with file and line, and the runs of the object. Or explains what holds up its deletion. It also says what to do. " +
    "The exit code is 3 if the object is not Ready.",
  arguments: [["<object>", "KIND/NAME, for example memcached/sessions"]],
  options: objectOptions(EXPLANATION),
  async run(text, options) {
    checkObjectNames([text]);
    return withCluster(options, async (client) => {
      const target = await findTarget(client, text, options);
      const object = await readTarget(client, target);
      tellLeftOut(target);
      const known = await lookAt(client, object, target, (what) =>
        progress(`${what} cannot be read with the rights of this kubeconfig`),
      );
      const explanation = explain(known);
      if (options.json) options.json(explanation);
      else print(formatExplanation(explanation, known.now, styleFor(process.stdout)));
      return explanation.fine ? EXIT_CODES.fine : EXIT_CODES.found;
    });
  },
});
