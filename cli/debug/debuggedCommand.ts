import path from "node:path";

/** A debugger that a handler's process can be attached to. */
export type Debugger = "node" | "debugpy";

/** How a handler is started so that it waits for a debugger. */
export interface DebuggedCommand {
  readonly debugger: Debugger;
  /** Program and arguments. */
  readonly command: readonly string[];
}

/** The ports that editors use by default. */
export const USUAL_PORTS: Readonly<Record<Debugger, number>> = { node: 9229, debugpy: 5678 };

/**
 * The address on which debuggers listen. Anyone who can reach a debugger can run any code as the author, so no other machine
 * may reach it.
 */
export const DEBUG_HOST = "127.0.0.1";

/** Node's message when a debugger is attached. debugpy has none. */
export const NODE_ATTACHED = /^Debugger attached\.$/m;

/** Python's own options that have their value in the next word. */
const WITH_VALUE = ["-X", "-W"];

/** The debugger for a program, by the program's name. Undefined if we know none. */
export function debuggerOf([program = ""]: readonly string[]): Debugger | undefined {
  const name = path.basename(program);
  if (name === "node") return "node";
  return /^python(\d+(\.\d+)?)?$/.test(name) ? "debugpy" : undefined;
}

/**
 * A handler's command with a debugger that listens on this machine. The process does nothing until a debugger is attached.
 * @returns undefined if we cannot debug the program
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

/** The words before the script, "-m" or "-c", which are options of Python itself. */
function optionsOfPython(args: readonly string[]): string[] {
  let count = 0;
  while (args[count]?.startsWith("-") && !/^-[mc]/.test(args[count] ?? ""))
    count += WITH_VALUE.includes(args[count] ?? "") ? 2 : 1;
  return args.slice(0, count);
}
