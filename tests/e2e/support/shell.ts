import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

/** What the shell prints after a piece of script that went well. */
const DONE = "@@ done @@";

/** A bash that somebody types into: variables last from one piece of script to the next. */
export class Shell {
  private readonly bash: ChildProcessWithoutNullStreams;
  private printed = "";

  /** @param environment added to our own */
  constructor(folder: string, environment: Readonly<Record<string, string>>) {
    this.bash = spawn("bash", ["-euo", "pipefail"], { cwd: folder, env: { ...process.env, ...environment } });
    // A caller that waits sees that bash has ended.
    this.bash.stdin.on("error", () => {});
    for (const stream of [this.bash.stdout, this.bash.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.printed += text;
      });
    }
  }

  /**
   * Runs a piece of script and gives what it prints.
   * @throws Error with that, where a command of it fails or one before it has failed
   */
  async run(script: string): Promise<string> {
    this.printed = "";
    this.bash.stdin.write(`${script}\necho '${DONE}'\n`);
    await new Promise<void>((resolve) => {
      const look = () => {
        if (this.printed.includes(DONE)) end();
      };
      const end = () => {
        this.bash.stdout.off("data", look);
        this.bash.off("close", end);
        resolve();
      };
      this.bash.stdout.on("data", look);
      this.bash.once("close", end);
      if (this.bash.exitCode !== null) end();
    });
    if (!this.printed.includes(DONE)) throw new Error(`the shell has ended: ${this.printed}`);
    return this.printed.replace(`${DONE}\n`, "");
  }

  end(): void {
    this.bash.stdin.end();
    this.bash.kill();
  }
}
