import type { EngineCommand } from "./layout";
import { logTo } from "./logLine";
import { openPod, type Pod, type PodCommand } from "./pod";
import { resident } from "./resident";
import { resync } from "./resync";
import { run } from "./run";

/** What engine.js does when its first argument says so. */
const COMMANDS: Readonly<Record<EngineCommand, PodCommand>> = { resident, run, resync };

/** Something went wrong while it ran: started again, it may go well. */
const FAULT = 1;
/** It cannot even begin: the arguments, the environment or the definition are not what the manifests give. */
const UNUSABLE = 2;

const write = (line: string) => process.stdout.write(line);

function commandOf(argument: string | undefined): PodCommand | undefined {
  return Object.hasOwn(COMMANDS, argument ?? "") ? COMMANDS[argument as EngineCommand] : undefined;
}

async function main(): Promise<number> {
  const [argument] = process.argv.slice(2);
  const command = commandOf(argument);
  if (!command) {
    process.stderr.write(`usage: engine.js ${Object.keys(COMMANDS).join("|")}\n`);
    return UNUSABLE;
  }
  const stopping = new AbortController();
  // Without a handler of ours, the first process of a container ignores them.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stopping.abort());
  let pod: Pod;
  try {
    pod = openPod(argument as EngineCommand, process.env, stopping.signal, write);
  } catch (error) {
    logTo(write)("error", (error as Error).message);
    return UNUSABLE;
  }
  return command(pod);
}

function fail(error: unknown): never {
  logTo(write)("error", error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exit(FAULT);
}

process.on("uncaughtException", fail).on("unhandledRejection", fail);
main().then((code) => process.exit(code), fail);
