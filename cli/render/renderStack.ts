import { readFileSync } from "node:fs";
import path from "node:path";
import { RunError } from "@pulumi/pulumi";
import { isRecord } from "../../runtime/json";
import { CommandError } from "../commandError";
import { type RegisteredResource, runProgram } from "./runProgram";
import { readStackConfiguration } from "./stackConfiguration";

/**
 * The resources that the program of a folder registers for a stack.
 * @param platformFile - the outputs of the platform's stack as JSON, for a stack that has only operators
 * @throws CommandError for whatever the user has to put right
 */
export async function renderStack(
  folder: string,
  stack: string,
  platformFile?: string,
): Promise<readonly RegisteredResource[]> {
  const configuration = readStackConfiguration(folder, stack);
  const outputs = platformFile === undefined ? undefined : readOutputs(platformFile);
  try {
    const program = require(path.join(folder, "index.ts")) as () => unknown;
    const run = await runProgram(program, configuration, outputs && { stackOutputs: () => outputs });
    return run.resources;
  } catch (error) {
    if (RunError.isInstance(error)) throw new CommandError(error.message, 1, { cause: error });
    throw error;
  }
}

function readOutputs(file: string): Record<string, unknown> {
  try {
    const outputs: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (isRecord(outputs)) return outputs;
  } catch (error) {
    throw new CommandError(`${file} cannot be read as JSON: ${(error as Error).message}`);
  }
  throw new CommandError(`${file} holds no outputs. Make it by pulumi stack output --json --stack NAME.`);
}
