import type { EngineCommand } from "./layout";
import { logTo } from "./logLine";
import { openPod, openPodContext, type PodCommand, type PodContext, readSettings } from "./pod";
import { writeTerminationMessage } from "./terminationMessage";

/** A command that is ready to run. */
type Work = () => Promise<number>;

/** The commands of engine.js, by its first argument. Only the modules that the command needs are evaluated. */
const COMMANDS: Readonly<Record<EngineCommand, () => (context: PodContext) => Work>> = {
  resident: () =>
    ofOperator((require("./resident/resident") as typeof import("./resident/resident")).resident),
  run: () => ofOperator((require("./run/run") as typeof import("./run/run")).run),
  keep: () => {
    const { keep } = require("./keep/keeper") as typeof import("./keep/keeper");
    return (context) => () => keep(context);
  },
  intake: () => (require("./intake/intakeCommand") as typeof import("./intake/intakeCommand")).intake,
};

/** An error while it ran. Another start may succeed. */
const FAULT = 1;
/** It cannot begin: the arguments, the environment or the definition do not have the form in which the manifests give them. */
const UNUSABLE = 2;

const write = (line: string) => process.stdout.write(line);

function ofOperator(command: PodCommand): (context: PodContext) => Work {
  return (context) => {
    const pod = openPod(context);
    return () => command(pod);
  };
}

async function main(): Promise<number> {
  const [argument = ""] = process.argv.slice(2);
  if (!Object.hasOwn(COMMANDS, argument)) {
    process.stderr.write(`usage: engine.js ${Object.keys(COMMANDS).join("|")}\n`);
    return UNUSABLE;
  }
  const command = argument as EngineCommand;
  const stopping = new AbortController();
  // The first process of a container ignores these signals, unless it handles them.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stopping.abort());
  let work: Work;
  try {
    work = COMMANDS[command]()(openPodContext(command, process.env, stopping.signal, write));
  } catch (error) {
    return end(UNUSABLE, (error as Error).message);
  }
  return work();
}

/** Says in the log and in the pod's termination message why the process ends. */
function end(code: number, message: string, logged = message): number {
  logTo(write)("error", logged);
  writeTerminationMessage(readSettings(process.env), message);
  return code;
}

function fail(error: unknown): never {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  process.exit(end(FAULT, message, stack));
}

process.on("uncaughtException", fail).on("unhandledRejection", fail);
main().then((code) => process.exit(code), fail);
