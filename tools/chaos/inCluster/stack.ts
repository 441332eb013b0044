import { setTimeout as pause } from "node:timers/promises";
import { PulumiError } from "./errors";
import { FileStack, type StackPlace } from "./fileStack";

/** How often `pulumi up` is tried while the API server is unstable. */
const MOST_TRIES = 4;
const AGAIN_MS = 5_000;

/** The stack of a chaos run's program, its state in files next to it. */
export class ChaosStack extends FileStack {
  constructor(
    program: StackPlace,
    name: string,
    private readonly signal: AbortSignal,
  ) {
    super(program, name);
  }

  /**
   * `pulumi up`, with retries, as a user would do during faults. If the signal aborts, an `up` in progress is allowed to finish,
   * because a second interruption would make it lose track of the resources that it is creating.
   * @throws PulumiError with Pulumi's last error; the signal's reason
   */
  async up(onFailure: (why: string) => void): Promise<void> {
    const up = async () => void (await (await this.stack()).up({ color: "never" }));
    await this.again(up, onFailure, this.signal);
  }

  /**
   * `pulumi destroy`, with retries, because objects that the operator has to finalize may take longer than Pulumi waits for a
   * CRD. If an `up` was aborted, the stack is unlocked first.
   * @throws PulumiError with Pulumi's last error
   */
  async destroy(onFailure: (why: string) => void): Promise<void> {
    const stack = await this.stack();
    await stack.cancel().catch(() => {});
    await this.again(async () => void (await stack.destroy({ color: "never" })), onFailure);
  }

  private async again(
    work: () => Promise<void>,
    onFailure: (why: string) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        signal?.throwIfAborted();
        if (tries === MOST_TRIES) throw new PulumiError(lastErrorOf(error as Error), { cause: error });
        onFailure(lastErrorOf(error as Error));
        await pause(AGAIN_MS, undefined, signal && { signal });
      }
    }
  }
}

/** The last error that Pulumi reports. If the program has failed, the next line is the reason. */
function lastErrorOf({ message }: Pick<Error, "message">): string {
  const lines = message.split("\n").map((line) => line.trim());
  const at = lines.findLastIndex((line) => line.startsWith("error: "));
  const [first, second = ""] =
    at < 0 ? lines.filter((line) => line !== "").slice(-1) : lines.slice(at, at + 2);
  return (first?.endsWith(":") ? `${first} ${second}` : first) ?? message;
}
