import { readTestArguments } from "./testArguments";
import { endTests, runTests } from "./testRun";

const FOLDER = "tests/e2e";

/** The test files in their order: each finds what the ones before it have left. */
const STEPS = [
  "up",
  "objects",
  "workflows",
  "view",
  "network",
  "operations",
  "takeover",
  "destroy",
  "upgrade",
  "leaving",
  "adoption",
  "operationsPage",
];

/**
 * `npm run e2e`: installs a copy of this project into the cluster that the kubeconfig names, tries what it promises,
 * and takes it away again. Skipped where there is no Pulumi or no cluster.
 *
 * @throws CommandError where a test has failed, and with exit code 2 for wrong arguments
 */
export async function main(args: readonly string[]): Promise<void> {
  const { files, options } = readTestArguments("e2e", [FOLDER], args);
  const all = STEPS.map((name) => `${FOLDER}/${name}.test.ts`);
  const chosen = all.filter((file) => files.length === 0 || files.includes(file));
  endTests(
    await runTests({
      title: "e2e",
      files: chosen,
      // Not what mocha finds by itself: that is for `npm test`.
      options: ["--config=.mocharc.e2e.json", ...options],
      jobs: 1,
    }),
  );
}
