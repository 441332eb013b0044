import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { Command } from "commander";
import { runCommand } from "../../cli/common/command";
import { CommandError } from "../../cli/common/commandError";
import { positiveInteger } from "../../cli/common/options";
import { progress } from "../../cli/common/terminal";
import { build } from "../build";
import { PACKAGE_FOLDER } from "../packageFolder";
import { median } from "./figures";
import { alignColumns, describeMachine, formatFigure, toJson } from "./report";

/** Operators whose fixtures are run. Each is alone in a folder. */
const TESTED = ["memcached", "01-minimal", "14-manifest-template"];

/** How long one command took, in each round, in milliseconds. */
export interface CommandFigures {
  /** The command as users type it. */
  readonly name: string;
  readonly roundsMs: readonly number[];
}

/**
 * `npm run bench -- --commands`: measures how long commands take that people wait for, with the package as users install it, and
 * compares them with a Node that does nothing.
 */
export function main(args: readonly string[]): Promise<number> {
  const command = new Command("npm run bench -- --commands")
    .description(
      "Runs commands of the built package that need no cluster, alternating with a Node that does nothing.",
    )
    .option("--commands", "this benchmark")
    .option("--rounds <n>", "rounds; the figures are their medians", positiveInteger, 10)
    .option("--json", "print JSON instead of the table");
  return runCommand({ command, runUntil: (signal) => bench(command.opts(), signal) }, args);
}

async function bench(
  { rounds, json }: { readonly rounds: number; readonly json?: true },
  signal: AbortSignal,
): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), "argosy-bench-"));
  try {
    progress("building the package");
    const [load] = loadavg();
    const figures = await measure(install(folder), folder, rounds, signal);
    const machine = `${describeMachine()}, load ${load?.toFixed(1)} before it`;
    process.stdout.write(
      `${json ? toJson({ commands: figures, machine }) : formatCommands(figures, machine)}\n`,
    );
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Installs the package in its own folder, and creates a folder for each operator. Returns the path of the package's command. */
function install(folder: string): string {
  const dist = path.join(folder, "dist");
  build(dist);
  cpSync(path.join(PACKAGE_FOLDER, "package.json"), path.join(folder, "package.json"));
  symlinkSync(path.join(PACKAGE_FOLDER, "node_modules"), path.join(folder, "node_modules"));
  for (const name of TESTED) {
    const handlers = path.join(folder, name);
    mkdirSync(handlers);
    cpSync(path.join(PACKAGE_FOLDER, "examples", name), path.join(handlers, name), { recursive: true });
  }
  return path.join(dist, "cli.js");
}

async function measure(
  cli: string,
  folder: string,
  rounds: number,
  signal: AbortSignal,
): Promise<CommandFigures[]> {
  const commands: [name: string, args: readonly string[]][] = [
    ["node -e 0", ["-e", "0"]],
    ["argosy --help", [cli, "--help"]],
    ...TESTED.map((name): [string, string[]] => [
      `argosy test (${name})`,
      [cli, "test", "--handlers", path.join(folder, name)],
    ]),
  ];
  const { NODE_OPTIONS: _, ...env } = process.env;
  const times = commands.map((): number[] => []);
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    for (const [index, [name, args]] of commands.entries()) {
      const startedAt = performance.now();
      await promisify(execFile)(process.execPath, args, { cwd: folder, env, signal }).catch(
        (error: Error) => {
          signal.throwIfAborted();
          throw new CommandError(`${name}: ${error.message}`);
        },
      );
      times[index]?.push(performance.now() - startedAt);
    }
  }
  return commands.map(([name], index) => ({ name, roundsMs: times[index] ?? [] }));
}

/**
 * The figures as a table, including their ratios to the figure of the first command.
 * @throws RangeError if there is no round
 */
export function formatCommands(figures: readonly CommandFigures[], machine: string): string {
  const [first] = figures;
  const rows = figures.map(({ name, roundsMs }) => {
    const ratios = roundsMs.map((ms, round) => ms / (first?.roundsMs[round] ?? ms));
    return [
      name,
      formatFigure(median(roundsMs)),
      formatFigure(Math.max(...roundsMs)),
      median(ratios).toFixed(1),
    ];
  });
  return [
    ...alignColumns([["", "median ms", "longest ms", `/ ${first?.name}`], ...rows]),
    "",
    `Medians of ${first?.roundsMs.length} rounds, one command after another. Ratios are the medians of each round's ` +
      `ratios. ${machine}`,
  ].join("\n");
}
