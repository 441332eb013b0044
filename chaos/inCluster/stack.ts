import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { LocalWorkspace, type Stack } from "@pulumi/pulumi/automation";
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
   * `pulumi up`, again where it fails: somebody who rolls out while the cluster is in trouble tries again too.
   * @throws Error with what Pulumi says at last
   */
  async up(onFailure: (why: string) => void): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await (await this.stack()).up({ color: "never" });
        return;
      } catch (error) {
        if (tries === MOST_TRIES) throw error;
        onFailure(lastLineOf(error as Error));
        await pause(AGAIN_MS);
      }
    }
  }

  /** `pulumi destroy`; frees the stack first where an `up` was broken off. */
  async destroy(): Promise<void> {
    const stack = await this.stack();
    await stack.cancel().catch(() => {});
    await stack.destroy({ color: "never" });
  }

  /** What somebody types to do by hand what {@link destroy} could not. */
  get destroyCommand(): string {
    const environment = Object.entries(this.environment).map(([name, value]) => `${name}='${value}'`);
    return `cd ${this.program.folder} && ${environment.join(" ")} pulumi destroy --yes --stack ${this.name}`;
  }

  private stack(): Promise<Stack> {
    this.opened ??= LocalWorkspace.createOrSelectStack(
      { stackName: this.name, workDir: this.program.folder },
      { envVars: this.environment },
    );
    return this.opened;
  }
}

function lastLineOf({ message }: Error): string {
  const lines = message.split("\n").map((line) => line.trim());
  return lines.findLast((line) => /^error: /.test(line)) ?? lines.findLast((line) => line !== "") ?? message;
}
