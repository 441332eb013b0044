import path from "node:path";
import { EXIT_CODES, UsageError } from "./commandError";
import { findProject } from "./project";
import { manifestsOf } from "./render/manifests";
import { formatList, formatStream, writeFolder } from "./render/output";
import { renderStack, type StackOptions } from "./render/renderStack";
import { print, progress } from "./terminal";

/** @see render */
export interface RenderOptions extends StackOptions {
  readonly out?: string;
  readonly json?: true;
}

/** `argosy render`: the program's manifests, without Pulumi's engine and without a cluster. */
export async function render({ stack, out, platform, project, json }: RenderOptions): Promise<number> {
  if (json && out !== undefined)
    throw new UsageError("--json prints, and --out writes files. Give one of them.");
  const manifests = manifestsOf(await renderStack(findProject(project), stack, platform));
  if (json) print(formatList(manifests));
  else if (out === undefined) process.stdout.write(formatStream(manifests));
  else {
    const { written, removed } = writeFolder(path.resolve(out), manifests);
    progress(`${out}: ${manifests.length} objects, ${written.length} written, ${removed.length} removed`);
  }
  return EXIT_CODES.fine;
}
