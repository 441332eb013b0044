import path from "node:path";

/** A debugger that a handler's process can be attached to. */
export type Debugger = "node" | "debugpy";

/** How a handler is started so that it waits for a debugger. */
export interface DebuggedCommand {
  readonly debugger: Debugger;
  /** Program and arguments. */
  readonly command: readonly string[];
}

/** The ports that editors take for granted. */
export const USUAL_PORTS: Readonly<Record<Debugger, number>> = { node: 9229, debugpy: 5678 };

/**
 * The address on which debuggers listen. Anyone who reaches a debugger can run any code as the author, so nobody else may reach
 * it.
 */
export const DEBUG_HOST = "127.0.0.1";

/** Node's message when a debugger is attached. debugpy has none. */
export const NODE_ATTACHED = /^Debugger attached\.$/m;

/** Options of Python's own that have a value in the next word. */
const WITH_VALUE = ["-X", "-W"];

/** Which debugger a program can be attached to, by its name. Undefined: none that we know. */
export function debuggerOf([program = ""]: readonly string[]): Debugger | undefined {
  const name = path.basename(program);
  if (name === "node") return "node";
  return /^python(\d+(\.\d+)?)?$/.test(name) ? "debugpy" : undefined;
}

/**
 * A handler's command with a debugger that listens on this machine. The process does nothing until a debugger is attached.
 * @returns undefined if the program is one that we cannot debug
 */
export function debuggedCommand(command: readonly string[], port: number): DebuggedCommand | undefined {
  const [program = "", ...args] = command;
  const listen = `${DEBUG_HOST}:${port}`;
  switch (debuggerOf(command)) {
    case "node":
      return { debugger: "node", command: [program, `--inspect-wait=${listen}`, ...args] };
    case "debugpy": {
      const own = optionsOfPython(args);
      const settings = ["--listen", listen, "--wait-for-client", "--configure-subProcess", "false"];
      const debugged = [...own, "-Xfrozen_modules=off", "-m", "debugpy", ...settings];
      return { debugger: "debugpy", command: [program, ...debugged, ...args.slice(own.length)] };
    }
    default:
      return undefined;
  }
}

/** The words before the script, "-m" or "-c": they are Python's, and not the script's. */
function optionsOfPython(args: readonly string[]): string[] {
  let count = 0;
  while (args[count]?.startsWith("-") && !/^-[mc]/.test(args[count] ?? ""))
    count += WITH_VALUE.includes(args[count] ?? "") ? 2 : 1;
  return args.slice(0, count);
}
