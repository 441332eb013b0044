import { spawn } from "node:child_process";
import { commandOnPath } from "../../definition/commandOnPath";

/** Programs that run containers by the same options. The first that answers is taken. */
const ENGINES = ["docker", "podman"] as const;

/** The program that runs containers here. */
export type EngineName = (typeof ENGINES)[number];

/** Docker or Podman cannot be used, or does not have the image. The message says what to do. */
export class ContainerEngineError extends Error {
  override readonly name = "ContainerEngineError";
}

/** The result of an engine's command. */
export interface EngineAnswer {
  readonly code: number | null;
  readonly output: string;
  /** Standard error. */
  readonly complaint: string;
}

/** Runs an engine's command to its end. @throws the signal's reason */
export type RunEngine = (args: readonly string[], signal?: AbortSignal) => Promise<EngineAnswer>;

/** An engine that has answered. */
export interface ContainerEngine {
  readonly name: EngineName;
  readonly run: RunEngine;
}

/** How long an engine may take to answer a question, in milliseconds. An engine that hangs does not answer. */
const ANSWER_MS = 20_000;

/** The engines' error messages, and what they mean. The first that fits counts. */
const COMPLAINTS: readonly (readonly [
  pattern: RegExp,
  meaning: string,
  remedy: (engine: string) => string,
])[] = [
  [
    /permission denied/i,
    "does not allow you to use it",
    (engine) =>
      engine === "docker"
        ? "Add yourself to the group docker (sudo usermod -aG docker $USER) and log in again, or use Docker's rootless mode or Podman."
        : "Run it as the user that it was set up for (podman info).",
  ],
  [
    /cannot connect|is the docker daemon running|connection refused|no such file or directory|unable to connect/i,
    "is not running",
    (engine) =>
      engine === "docker"
        ? "Start it (sudo systemctl start docker, or Docker Desktop)."
        : "Start it (podman machine start).",
  ],
];

/** The advice to run a handler without its image. */
export const WITHOUT = "Or install the handler's program here, and run argosy dev without --in-image.";

/** The engines whose programs are on this machine, whether they work or not. */
export function enginesOnPath(environment = process.env): EngineName[] {
  return ENGINES.filter((name) => commandOnPath(name, environment) !== undefined);
}

/**
 * The engine of this machine: Docker, or else Podman.
 * @throws ContainerEngineError if there is none, or none that answers; the signal's reason
 */
export async function findEngine(signal?: AbortSignal, environment = process.env): Promise<ContainerEngine> {
  const there = enginesOnPath(environment);
  if (there.length === 0)
    throw new ContainerEngineError(
      `Neither Docker nor Podman is on the PATH of this machine. Install one of them. ${WITHOUT}`,
    );
  const complaints: string[] = [];
  for (const name of there) {
    const run: RunEngine = (args, during) => runEngine(name, args, environment, during);
    const limit = AbortSignal.timeout(ANSWER_MS);
    const { code, complaint } = await run(
      // Every engine has this command, and it is fast.
      ["ps", "--quiet", "--filter", "label=argosy.dev/none"],
      signal ? AbortSignal.any([signal, limit]) : limit,
    ).catch((error: Error) => {
      signal?.throwIfAborted();
      const silent = `${name} has not answered for ${ANSWER_MS / 1000} s`;
      return { code: 1, output: "", complaint: limit.aborted ? silent : error.message };
    });
    if (code === 0) return { name, run };
    complaints.push(engineComplaint(name, complaint));
  }
  throw new ContainerEngineError(`${complaints.join(" ")} ${WITHOUT}`);
}

/** What is wrong with an engine, by its error message, and what to do. */
export function engineComplaint(name: string, complaint: string): string {
  const said = lastSentence(complaint);
  const known = COMPLAINTS.find(([pattern]) => pattern.test(complaint));
  if (!known) return `${name} does not work: ${said} See what ${name} info says.`;
  const [, meaning, remedy] = known;
  return `${name} is installed, but ${meaning}: ${said} ${remedy(name)}`;
}

/** The last line of a program's output, as a sentence. */
export function lastSentence(text: string): string {
  const said = text.trim().split("\n").at(-1) ?? "";
  return /[.?!]$/.test(said) ? said : `${said || "there is no message"}.`;
}

function runEngine(
  name: EngineName,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<EngineAnswer> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, { env, stdio: ["ignore", "pipe", "pipe"], ...(signal && { signal }) });
    let [output, complaint] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk;
    });
    child.stderr.on("data", (chunk: Buffer) => {
      complaint += chunk;
    });
    child.once("error", (error) => reject(signal?.aborted ? signal.reason : error));
    child.once("close", (code) => resolve({ code, output, complaint }));
  });
}
