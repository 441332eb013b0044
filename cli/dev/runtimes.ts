import { spawnSync } from "node:child_process";
import { programOf } from "../../definition/handlerProgram";
import type { Operator } from "../../runtime/cli";
import { debuggerOf } from "../debug/debuggedCommand";

/** An interpreter, as images and the programs themselves name it. */
interface Runtime {
  readonly name: string;
  readonly image: RegExp;
  /** How many parts of a version matter for a runtime: Python 3.13 differs from 3.11, Node 22 from 20. */
  readonly parts: number;
}

const RUNTIMES: Readonly<Record<"node" | "debugpy", Runtime>> = {
  node: { name: "Node", image: /(?:^|\/)node:(\d+(?:\.\d+)*)/, parts: 1 },
  debugpy: { name: "Python", image: /(?:^|\/)python:(\d+(?:\.\d+)*)/, parts: 2 },
};
const ANSWER_MS = 10_000;

/**
 * A note that a handler runs here in another version of its language than in its image. Undefined: the version is the same, or
 * the image's name does not contain it.
 *
 * @param versionOf the version of a program on this machine, as "Python 3.11.7" or "v20.20.2".
 * @default the program is asked
 */
export function runtimeDifference(
  operator: Pick<Operator, "name" | "handler" | "include" | "folder" | "env">,
  versionOf: typeof versionHere = versionHere,
): string | undefined {
  const { command } = programOf(operator, "");
  const kind = debuggerOf(command);
  if (kind === undefined) return undefined;
  const { name, image, parts } = RUNTIMES[kind];
  const [, there] = image.exec(operator.handler.image) ?? [];
  const [here] = /\d+(\.\d+)+/.exec(versionOf(command[0] ?? "", operator)) ?? [];
  if (there === undefined || here === undefined) return undefined;
  const [one, other] = [there, here].map((version) => version.split(".").slice(0, parts));
  // "python:3" is less exact than a whole version.
  const isSame = one?.every((part, index) => part === other?.[index]);
  if (isSame) return undefined;
  return `${operator.name}: the handler runs in ${name} ${here} here, and in ${name} ${there} in its image ${operator.handler.image}. Use --in-image to run it in the image, with Docker or Podman.`;
}

function versionHere(program: string, { folder, env }: Pick<Operator, "folder" | "env">): string {
  const { stdout = "", stderr = "" } = spawnSync(program, ["--version"], {
    cwd: folder,
    env: { ...process.env, ...env },
    encoding: "utf8",
    timeout: ANSWER_MS,
  });
  return `${stdout}${stderr}`;
}
