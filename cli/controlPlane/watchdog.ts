import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { Socket } from "node:net";
import { assetPath } from "../../components/assets";

const script = assetPath("watchdog.sh");

/**
 * Removes a directory, and every process whose program was started by a path below it, when this process has ended: by stop(), or
 * for any other reason, including SIGKILL.
 */
export class Watchdog {
  private readonly child: ChildProcess;
  private stopping: Promise<void> | undefined;

  /** @param directory an absolute path without symbolic links, which the paths of the started programs begin with */
  constructor(private readonly directory: string) {
    // Its standard input is the whole mechanism: the other end closes with this process. Its own session keeps
    // Ctrl-C in the terminal away from it.
    this.child = spawn("sh", [script, directory], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
      cwd: "/",
    });
    this.child.on("error", () => undefined); // stop() and the exit handler do not need it
    this.child.unref();
    // The watchdog must not keep the process alive.
    if (this.child.stdin instanceof Socket) this.child.stdin.unref();
    process.once("exit", this.stopAtExit);
  }

  /**
   * Ends the processes and removes the directory. Idempotent.
   *
   * @throws if the directory cannot be removed
   */
  stop(): Promise<void> {
    this.stopping ??= this.stopOnce();
    return this.stopping;
  }

  private async stopOnce(): Promise<void> {
    if (this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null) {
      this.child.ref();
      const exited = once(this.child, "exit");
      this.child.stdin?.end();
      await exited;
    }
    process.removeListener("exit", this.stopAtExit);
    // The watchdog may have been killed.
    if (existsSync(this.directory)) this.stopAtExit();
    if (existsSync(this.directory)) throw new Error(`the folder ${this.directory} could not be removed`);
  }

  /** The watchdog does the same a moment later. But nothing should be left right after this process has ended. */
  private readonly stopAtExit = (): void => {
    spawnSync("sh", [script, this.directory], { stdio: "ignore", cwd: "/", timeout: 10_000 });
  };
}
