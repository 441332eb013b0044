import { readFileSync } from "node:fs";
import { displayPath } from "../../definition/problems";
import { isRecord } from "../../runtime/base/json";
import { asCommandError, CommandError } from "../common/commandError";
import { loadProgram, workingFolderOf } from "./loadProgram";
import { type RegisteredResource, runProgram } from "./runProgram";
import { readStackConfiguration } from "./stackConfiguration";

/**
 * The resources that the program of a folder registers for a stack.
 * @param platformFile - the outputs of the platform's stack as JSON, for a stack that has only operators
 * @throws CommandError for everything that the user has to correct
 */
export async function renderStack(
  folder: string,
  stack: string,
  platformFile?: string,
): Promise<readonly RegisteredResource[]> {
  const configuration = readStackConfiguration(folder, stack);
  const outputs = platformFile === undefined ? undefined : readOutputs(platformFile);
  const { main } = configuration;
  try {
    const run = await runProgram(() => loadProgram(folder, main), configuration, {
      folder: workingFolderOf(folder, main),
      // What only Pulumi knows is unknown then, and not left out.
      preview: true,
      ...(outputs && { stackOutputs: () => outputs }),
    });
    return run.resources;
  } catch (error) {
    throw asProgramError(error, folder);
  }
}

/** An error of the program keeps the lines of its stack in the program, unless its message is enough for users. */
function asProgramError(error: unknown, folder: string): unknown {
  // The program has loaded it. Help and errors of the command line should not wait for that.
  const { RunError } = require("@pulumi/pulumi") as typeof import("@pulumi/pulumi");
  if (RunError.isInstance(error)) return new CommandError(error.message, { cause: error });
  const foreseen = asCommandError(error);
  if (foreseen instanceof CommandError || !(error instanceof Error)) return foreseen;
  const missing = /^Cannot find (?:module|package) '([^'./][^']*)'/.exec(error.message)?.[1];
  const text =
    missing === undefined
      ? `The program in ${displayPath(folder)} failed:\n${ownLines(error.stack ?? error.message)}`
      : `The program in ${displayPath(folder)} needs the package ${missing}, which is not installed. Run npm install.`;
  return new CommandError(text, { cause: error });
}

const REMEDY = "Create it with pulumi stack output --json --stack NAME.";

/** A stack without the lines in packages and in Node. */
function ownLines(stack: string): string {
  const lines = stack.split("\n");
  return lines.filter((line) => !/^ +at .*([\\/]node_modules[\\/]|\(?node:)/.test(line)).join("\n");
}

function readOutputs(file: string): Record<string, unknown> {
  try {
    const outputs: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (isRecord(outputs)) return outputs;
  } catch (error) {
    throw new CommandError(`${file} cannot be read as JSON: ${(error as Error).message}. ${REMEDY}`);
  }
  throw new CommandError(`${file} contains no outputs. ${REMEDY}`);
}
