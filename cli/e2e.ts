import configuration from "../.mocharc.e2e.json";
import { CommandError } from "./commandError";
import { mochaArguments } from "./mochaArguments";
import { runTool } from "./tools";

/** Not what mocha finds by itself: that is for `npm test`. */
const CONFIGURATION = ["--config", ".mocharc.e2e.json"];

/**
 * `npm run e2e`: installs a copy of this project into the cluster that the kubeconfig names, tries what it promises,
 * and takes it away again. Skipped where there is no Pulumi or no cluster. Arguments go to mocha.
 *
 * @throws CommandError where a test has failed
 */
export async function main(args: readonly string[]): Promise<void> {
  const given = mochaArguments(args, configuration);
  const { exitCode } = await runTool({
    title: "e2e",
    entry: "mocha/bin/mocha.js",
    args: given.includes("--no-config") ? given : [...CONFIGURATION, ...given],
  });
  if (exitCode !== 0) throw new CommandError("", exitCode);
}
