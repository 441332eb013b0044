import path from "node:path";
import { EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { jsonOption, option, platformOption, projectOption, stackOption } from "../common/options";
import { findProject } from "../common/project";
import { print, progress } from "../common/terminal";
import { readResources } from "../render/manifests";
import { formatList, formatStream, writeFolder } from "../render/output";
import { renderStack } from "../render/renderStack";

/** `argosy render`: the program's manifests, without Pulumi's engine and without a cluster. */
export default command({
  description:
    "Prints the objects that pulumi up would create for a stack as YAML, without Pulumi's engine and without a cluster: " +
    "for reviews, GitOps and checks. Other resources of the program are left out and named. It fails if an object of Argosy's " +
    "depends on something that only Pulumi has: encrypted values, Pulumi's transforms, or outputs of other resources.",
  options: [
    stackOption(),
    option(
      "--out <folder>",
      "write one file for each object to this folder; files of an earlier run are removed",
    ),
    platformOption(),
    projectOption(),
    jsonOption("print one object of kind List in JSON instead of YAML"),
  ],
  async run({ stack, out, platform, project, json }) {
    if (json && out !== undefined)
      throw new UsageError("--json prints, and --out writes files. Give one of them.");
    const { manifests, others } = readResources(await renderStack(findProject(project), stack, platform));
    if (others.length > 0) progress(`left out, because only pulumi up makes it: ${others.join(", ")}`);
    if (json) print(formatList(manifests));
    else if (out === undefined) process.stdout.write(formatStream(manifests));
    else {
      const { written, removed } = writeFolder(path.resolve(out), manifests);
      progress(`${out}: ${manifests.length} objects, ${written.length} written, ${removed.length} removed`);
    }
    return EXIT_CODES.fine;
  },
});
