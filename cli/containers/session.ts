import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { DOMAIN } from "../../runtime/base/names";
import { isRunning } from "../common/isRunning";
import type { ContainerEngine } from "./engine";

const SESSION = `${DOMAIN}/dev-session`;
const PROCESS = `${DOMAIN}/dev-process`;
const HOST = `${DOMAIN}/dev-host`;

/**
 * A script that waits for the end of standard input, which comes when the process at the other end has ended for any reason. Then
 * it removes all containers with a label, and a folder. It does that more than once, because the engine may be about to make a
 * container for a killed process.
 */
const GUARD = `trap '' HUP INT TERM
while read -r _; do :; done
for pause in 0 1 3; do
  sleep $pause
  ids=$("$1" ps --all --quiet --filter "label=$2")
  [ -z "$ids" ] || "$1" rm --force $ids
  rm -rf -- "$3"
done`;

/** The containers of this process. None of them outlives it for long, even if it is killed. */
export class ContainerSession {
  private readonly id = randomBytes(4).toString("hex");
  private readonly guard;
  private count = 0;

  /** The labels of all its containers. */
  readonly labels = {
    [SESSION]: this.id,
    [PROCESS]: String(process.pid),
    [HOST]: hostname(),
  };

  /** @param folder the folder of this machine that its containers mount. It is removed with them */
  constructor(
    private readonly engine: ContainerEngine,
    folder: string,
  ) {
    const words = [engine.name, `${SESSION}=${this.id}`, folder];
    // A session of its own keeps Ctrl-C in the terminal away from it.
    this.guard = spawn("sh", ["-c", GUARD, "argosy-containers", ...words], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
      cwd: "/",
    });
    // Without the guard, the next session removes the remaining containers.
    this.guard.on("error", () => undefined);
    this.guard.unref();
    (this.guard.stdin as unknown as { unref?: () => void }).unref?.();
  }

  /** A name for the next container. */
  nextName(operator: string): string {
    this.count += 1;
    return `argosy-${operator}-${this.id}-${this.count}`;
  }

  /** Kills a container. Waits for nothing, so that it can be done while this process exits. */
  remove(name: string): void {
    const child = spawn(this.engine.name, ["rm", "--force", name], { stdio: "ignore", detached: true });
    child.on("error", () => undefined);
    child.unref();
  }

  /** Removes all containers of the session. */
  async close(): Promise<void> {
    await removeAll(this.engine, await idsOf(this.engine, `${SESSION}=${this.id}`));
    this.guard.stdin?.end();
  }
}

/** Removes the containers of processes of this machine that no longer exist. @returns the number of removed containers */
export async function removeLeftOvers(engine: ContainerEngine): Promise<number> {
  const ids = await idsOf(engine, `${HOST}=${hostname()}`);
  if (ids.length === 0) return 0;
  const format = `{{.Id}} {{index .Config.Labels "${PROCESS}"}}`;
  const { output } = await engine.run(["inspect", "--type", "container", "--format", format, ...ids]);
  const gone = output
    .trim()
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, pid]) => pid !== undefined && !isRunning(Number(pid)))
    .map(([id = ""]) => id);
  await removeAll(engine, gone);
  return gone.length;
}

async function idsOf({ run }: ContainerEngine, label: string): Promise<string[]> {
  const { output } = await run(["ps", "--all", "--quiet", "--filter", `label=${label}`]);
  return output.split(/\s+/).filter(Boolean);
}

async function removeAll({ run }: ContainerEngine, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await run(["rm", "--force", ...ids]);
}
