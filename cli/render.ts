import { Command } from "commander";
import { runCommand } from "./command";
import { progress } from "./progress";
import { PROJECT_FOLDER } from "./projectFolder";
import { againstRef } from "./render/against";
import { manifestsOf } from "./render/manifests";
import { formatStream, writeFolder } from "./render/output";
import { renderStack } from "./render/renderStack";

interface Options {
  readonly stack: string;
  readonly out?: string;
  readonly against?: string;
  readonly platform?: string;
}

/** `npm run render`: the program's manifests, without Pulumi's engine and without a cluster. */
export function main(args: readonly string[]): Promise<void> {
  const program = new Command("npm run --silent render --")
    .description(
      "Prints what pulumi up makes of a stack as YAML, without Pulumi's engine and without a cluster: for review, for " +
        "GitOps, for checks. Refuses what only Pulumi can know (encrypted values, transforms) rather than differ from it.",
    )
    .option(
      "--stack <name>",
      "the stack whose Pulumi.<name>.yaml is read, with the defaults of Pulumi.yaml",
      "dev",
    )
    .option(
      "--out <folder>",
      "write one file for each object there; what an earlier run left there is removed",
    )
    .option(
      "--against <ref>",
      "tell on standard error what the CRDs' changes since that git ref mean for stored objects and clients; exit code 3 where one breaks them",
    )
    .option(
      "--platform <file>",
      'with parts "operators": the platform stack\'s outputs, from pulumi stack output --json --stack <name>',
    );
  process.stdout.on("error", ignoreEarlyEnd);
  return runCommand<Options>(program, args, render);
}

/** Whoever reads us may have seen enough: `npm run --silent render | head`. */
function ignoreEarlyEnd(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}

async function render({ stack, out, against, platform }: Options): Promise<number> {
  const manifests = manifestsOf(await renderStack(PROJECT_FOLDER, stack, platform));
  if (out === undefined) process.stdout.write(formatStream(manifests));
  else {
    const { written, removed } = writeFolder(out, manifests);
    progress(`${out}: ${manifests.length} objects, ${written.length} written, ${removed.length} removed`);
  }
  return against === undefined ? 0 : againstRef(against, manifests, progress);
}
