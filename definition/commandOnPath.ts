import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";
import type { Operator } from "../runtime/definition/definition";
import { programOf } from "../runtime/definition/handlerProgram";
import { reportOn } from "./definitionFile";
import { displayPath, Problems } from "./problems";

/** What execvp searches where there is no PATH (glibc's `confstr(_CS_PATH)`). */
const DEFAULT_PATH = "/bin:/usr/bin";

/**
 * The file that would run as `command`, found as execvp does: a command with a slash is a path, any other is
 * looked for in each directory of PATH, of which an empty one is the current directory.
 *
 * @param env - whose PATH counts. @default this process's
 * @param folder - the directory that it would run in. @default the current one
 * @returns an absolute path. Undefined if nothing can be executed
 */
export function commandOnPath(
  command: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
  folder: string = process.cwd(),
): string | undefined {
  if (command === "") return undefined;
  const directories = command.includes("/") ? [""] : (env.PATH ?? DEFAULT_PATH).split(path.delimiter);
  return directories.map((directory) => path.resolve(folder, directory, command)).find(isExecutable);
}

/**
 * Checks that the handler's program is on this machine, for running it here without its image.
 *
 * @throws OperatorError if it is not
 */
export function checkCommand(
  operator: Operator,
  env: Readonly<Record<string, string | undefined>> = process.env,
): void {
  const { handler } = operator;
  const [program = ""] = programOf(operator, "").command;
  if (commandOnPath(program, { ...env, ...operator.env }, operator.folder) !== undefined) return;
  const problems = new Problems();
  const where = program.includes("/")
    ? `is not an executable file of ${displayPath(operator.folder)}`
    : "is not on the PATH of this machine";
  const remedy = program.includes("/")
    ? "Make it one with chmod +x, or name the interpreter first."
    : `Install ${program} here; on a cluster it comes with the image ${handler.image}.`;
  const field = "command" in handler ? "handler.command[0]" : "handler";
  reportOn(operator, problems)(field, `"${program}" ${where}`, remedy);
  throw problems.toError();
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
