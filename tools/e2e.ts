import type { Command } from "commander";
import { runCommand } from "../cli/common/command";
import { readTestArguments, testCommand } from "./testArguments";
import { endTests, runTests } from "./testRun";

const FOLDER = "tests/e2e";

/** The test files in their order. Each builds on the state that the earlier ones have left. */
export const STEPS = [
  "up",
  "objects",
  "workflows",
  "view",
  "network",
  "operations",
  "peaks",
  "initlessPods",
  "takeover",
  "destroy",
  "upgrade",
  "leaving",
  "existingCrd",
  "adoption",
  "operationsPage",
  "outsideEvents",
  "outsideEventsLimits",
  "examples",
  "guards",
  "stagedRollout",
  "watching",
];

/**
 * `npm run e2e`: installs a copy of this project into the cluster that the kubeconfig names, tests its promises, and removes it
 * again. Skipped if there is no Pulumi or no cluster.
 *
 * @returns the exit code: 1 if a test has failed, 2 for wrong arguments
 */
export function main(args: readonly string[]): Promise<number> {
  const command = testCommand("e2e");
  return runCommand({ command, runUntil: () => e2e(command) }, args);
}

async function e2e(command: Command): Promise<number> {
  const { files, options } = readTestArguments(command, [FOLDER]);
  const all = STEPS.map((name) => `${FOLDER}/${name}.test.ts`);
  const result = await runTests({
    title: "e2e",
    files: all.filter((file) => files.length === 0 || files.includes(file)),
    // Not the configuration that mocha finds by itself, which is for `npm test`.
    options: ["--config=.mocharc.e2e.json", ...options],
    jobs: 1,
  });
  return endTests(result);
}
