import path from "node:path";
import { z } from "zod";
import { listening } from "../../definition/announcement";
import { isRecord } from "../../runtime/base/json";
import type { Manifest } from "../../runtime/base/objects";
import { CommandError, EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { flag, jsonOption, option, platformOption, projectOption, stackOption } from "../common/options";
import { findProject } from "../common/project";
import { progress } from "../common/terminal";
import { argoCdHealth } from "../render/argoCdHealth";
import { beforeCommit, forGitOps } from "../render/gitOps";
import { readResources } from "../render/manifests";
import { formatStream, writeFolder } from "../render/output";
import { renderStack } from "../render/renderStack";

/** The manifests as one object, which kubectl reads. */
const LIST = z.strictObject({
  apiVersion: z.literal("v1"),
  kind: z.literal("List"),
  items: z.array(z.custom<Manifest>(isRecord).meta({ type: "object" })).readonly(),
});

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
      "write one file for each object to this folder, with annotations for Argo CD and Flux; files of an earlier run are " +
        "removed",
    ),
    flag(
      "--argocd-health",
      "print the health checks of the operators' kinds for Argo CD's ConfigMap argocd-cm, and nothing else",
    ),
    platformOption(),
    projectOption(),
    jsonOption(LIST, "print one object of kind List in JSON instead of YAML"),
  ],
  async run({ stack, out, argocdHealth, platform, project, json }) {
    if (json && out !== undefined)
      throw new UsageError("--json prints, and --out writes files. Give one of them.");
    if (argocdHealth && out !== undefined)
      throw new UsageError("--argocd-health prints, and --out writes files. Give one of them.");
    const kept = new Set<string>();
    const resources = await listening(
      (announcement) => void ("kept" in announcement && kept.add(nameOf(announcement.kept))),
      () => renderStack(findProject(project), stack, platform),
    );
    const { manifests, others } = readResources(resources);
    if (argocdHealth) {
      const checks = argoCdHealth(manifests);
      if (!checks) throw new CommandError(`No operator of the stack ${stack} has a kind of its own.`);
      if (json) json({ apiVersion: "v1", kind: "List", items: [checks] });
      else process.stdout.write(formatStream([checks]));
      return EXIT_CODES.fine;
    }
    if (others.length > 0) progress(`left out, because only pulumi up makes it: ${others.join(", ")}`);
    if (json) json({ apiVersion: "v1", kind: "List", items: manifests });
    else if (out === undefined) process.stdout.write(formatStream(manifests));
    else {
      const { written, removed } = writeFolder(
        path.resolve(out),
        forGitOps(manifests, (manifest) => kept.has(nameOf(manifest))),
      );
      progress(`${out}: ${manifests.length} objects, ${written.length} written, ${removed.length} removed`);
      for (const line of beforeCommit(removed)) progress(line);
    }
    return EXIT_CODES.fine;
  },
});

/** The kinds that are kept have no namespaces. */
function nameOf({ kind, metadata: { name } }: Manifest): string {
  return `${kind} ${name}`;
}
