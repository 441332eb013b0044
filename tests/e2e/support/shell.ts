import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

/** The shell prints this after a piece of script that ended well. */
const DONE = "@@ done @@";

/**
 ** A bash as a user types into it: variables last from one piece of script to the next. After a piece that fails, a new bash begins
 * without them, so that pieces that do not need them still run.
 */
export class Shell {
  private bash: ChildProcessWithoutNullStreams | undefined;
  private printed = "";

  /** @param environment added to that of this process */
  constructor(
    private readonly folder: string,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  /**
   * Runs a piece of script and returns what it prints.
   * @throws Error with that, if a command of it fails
   */
  async run(script: string): Promise<string> {
    this.bash ??= this.start();
    const { bash } = this;
    this.printed = "";
    bash.stdin.write(`${script}\necho '${DONE}'\n`);
    await new Promise<void>((resolve) => {
      const look = () => {
        if (this.printed.includes(DONE)) end();
      };
      const end = () => {
        bash.stdout.off("data", look);
        bash.off("close", end);
        resolve();
      };
      bash.stdout.on("data", look);
      bash.once("close", end);
    });
    if (this.printed.includes(DONE)) return this.printed.replace(`${DONE}\n`, "");
    this.bash = undefined;
    throw new Error(`the shell has ended: ${this.printed}`);
  }

  end(): void {
    this.bash?.stdin.end();
    this.bash?.kill();
  }

  private start(): ChildProcessWithoutNullStreams {
    const env = { ...process.env, ...this.environment };
    const bash = spawn("bash", ["-euo", "pipefail"], { cwd: this.folder, env });
    // A write to a bash that has ended fails. The caller learns of the end by "close".
    bash.stdin.on("error", () => {});
    for (const stream of [bash.stdout, bash.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.printed += text;
      });
    }
    return bash;
  }
}
