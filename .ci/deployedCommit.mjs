// Reads `pulumi stack history --json` from standard input and prints the commit that the stack was deployed from:
//
//   pulumi stack history --json --stack acme/prod | node .ci/deployedCommit.mjs
//
// Prints nothing if nothing is deployed. An update that failed counts: it has changed the cluster too.
import { readFileSync } from "node:fs";

const history = JSON.parse(readFileSync(0, "utf8"));
// Newest first. A refresh and an import deploy no program.
const last = history.find(({ kind }) => kind === "update" || kind === "destroy");
if (last?.kind === "update") {
  const { "git.head": commit, "git.dirty": dirty } = last.environment;
  if (!/^[0-9a-f]{40}$/.test(commit ?? "")) {
    process.stderr.write(
      `The update of ${last.startTime} does not say which commit it came from. Deploy the stack from a clone of the repository.\n`,
    );
    process.exit(1);
  }
  if (dirty === "true")
    process.stderr.write(
      `The update of ${last.startTime} had changes that were not committed: they may show as drift.\n`,
    );
  process.stdout.write(`${commit}\n`);
}
