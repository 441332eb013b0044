import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";
import type { Operator } from "../runtime/operator/definition";
import { reportOn } from "./definitionFile";
import { programOf } from "./handlerProgram";
import { displayPath, Problems } from "./problems";

/** The directories that execvp searches if there is no PATH (glibc's `confstr(_CS_PATH)`). */
const DEFAULT_PATH = "/bin:/usr/bin";

/**
 * The file that would run as `command`, found as execvp does. A command with a slash is a path. Any other command is searched in
 * each directory of PATH. An empty directory in PATH is the current directory.
 *
 * @param env - the environment with the PATH.
 * @default that of this process
 * @param folder - the directory that the command would run in.
 * @default the current directory
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
 * Checks that the handler's program is on this machine, so that it can run here without its image.
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
  const isOwn = program.includes("/") && !path.isAbsolute(program);
  const place = isOwn ? displayPath(operator.folder) : "this machine";
  const where = program.includes("/")
    ? `is not an executable file of ${place}`
    : `is not on the PATH of ${place}`;
  const remedy = isOwn
    ? "Make it executable with chmod +x, or name the interpreter first."
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
