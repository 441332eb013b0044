import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { LocalWorkspace, type Stack } from "@pulumi/pulumi/automation";
import { PulumiError } from "./errors";
import type { Program } from "./program";

/** How often `pulumi up` is tried while the API server comes and goes. */
const MOST_TRIES = 4;
const AGAIN_MS = 5_000;

/** The stack of a chaos run's program, its state in files beside it. */
export class ChaosStack {
  private readonly environment: Record<string, string>;
  private opened: Promise<Stack> | undefined;

  constructor(
    private readonly program: Program,
    private readonly name: string,
    private readonly signal: AbortSignal,
  ) {
    this.environment = {
      PULUMI_BACKEND_URL: `file://${program.state}`,
      PULUMI_CONFIG_PASSPHRASE: randomUUID(),
      PULUMI_CONFIG_PASSPHRASE_FILE: "",
      // What is copied has been checked; on a busy machine checking takes longer than all the rest.
      PULUMI_NODEJS_TRANSPILE_ONLY: "true",
    };
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

  /** What somebody types to do by hand what {@link destroy} could not. */
  get destroyCommand(): string {
    const environment = Object.entries(this.environment).map(([name, value]) => `${name}='${value}'`);
    return `cd ${this.program.folder} && ${environment.join(" ")} pulumi destroy --yes --stack ${this.name}`;
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

  private stack(): Promise<Stack> {
    this.opened ??= LocalWorkspace.createOrSelectStack(
      { stackName: this.name, workDir: this.program.folder },
      { envVars: this.environment },
    );
    return this.opened;
  }
}

/** The last error that Pulumi tells of. Of a program that has failed, the line after it says why. */
export function lastErrorOf({ message }: Pick<Error, "message">): string {
  const lines = message.split("\n").map((line) => line.trim());
  const at = lines.findLastIndex((line) => line.startsWith("error: "));
  const [first, second = ""] =
    at < 0 ? lines.filter((line) => line !== "").slice(-1) : lines.slice(at, at + 2);
  return (first?.endsWith(":") ? `${first} ${second}` : first) ?? message;
}
