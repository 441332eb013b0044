import { setTimeout as pause } from "node:timers/promises";
import { PulumiError } from "./errors";
import { FileStack, type StackPlace } from "./fileStack";

/** How often `pulumi up` is tried while the API server comes and goes. */
const MOST_TRIES = 4;
const AGAIN_MS = 5_000;

/** The stack of a chaos run's program, its state in files beside it. */
export class ChaosStack extends FileStack {
  constructor(
    program: StackPlace,
    name: string,
    private readonly signal: AbortSignal,
  ) {
    super(program, name);
  }

  /**
   * `pulumi up`, again where it fails: somebody who rolls out while the cluster is in trouble tries again too. One that
   * is going on when the signal aborts comes to its end: told twice to stop, it would forget what it is making.
   * @throws PulumiError with what Pulumi says at last; the signal's reason
   */
  async up(onFailure: (why: string) => void): Promise<void> {
    const up = async () => void (await (await this.stack()).up({ color: "never" }));
    await this.again(up, onFailure, this.signal);
  }

  /**
   * `pulumi destroy`, again where it fails: objects that the operator has to finalize first may take longer than a CRD
   * is waited for. Frees the stack first where an `up` was broken off.
   * @throws PulumiError with what Pulumi says at last
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

/** The last error that Pulumi reports. Of a program that has failed, the line after it says why. */
export function lastErrorOf({ message }: Pick<Error, "message">): string {
  const lines = message.split("\n").map((line) => line.trim());
  const at = lines.findLastIndex((line) => line.startsWith("error: "));
  const [first, second = ""] =
    at < 0 ? lines.filter((line) => line !== "").slice(-1) : lines.slice(at, at + 2);
  return (first?.endsWith(":") ? `${first} ${second}` : first) ?? message;
}
