import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { UpOptions, UpResult } from "@pulumi/pulumi/automation";
import { FileStack } from "../../../tools/chaos/inCluster/fileStack";
import { lastLineTeller } from "./progress";

/** What an `up` has done. */
export interface Up extends UpResult {
  /** The types of the resources that were replaced, as Pulumi names them. */
  readonly replaced: readonly string[];
}

/** The stack of a copy of the project, its state in files next to it. */
export class TestStack extends FileStack {
  /** `pulumi up`. */
  async up(options: Pick<UpOptions, "expectNoChanges" | "signal"> = {}): Promise<Up> {
    const replaced: string[] = [];
    const result = await (await this.stack()).up({
      ...options,
      color: "never",
      onOutput: lastLineTeller("pulumi up"),
      onEvent: ({ resourcePreEvent }) => {
        if (resourcePreEvent?.metadata.op === "replace") replaced.push(resourcePreEvent.metadata.type);
      },
    });
    return { ...result, replaced };
  }

  /** `pulumi destroy`, and the stack's own record after it. */
  async destroy(): Promise<void> {
    const stack = await this.stack();
    await stack.destroy({ color: "never", onOutput: lastLineTeller("pulumi destroy") });
  }

  /** Frees a stack whose `up` was broken off. */
  async unlock(): Promise<void> {
    await (await this.stack()).cancel();
  }

  /** Lets {@link destroy} take what `protect` keeps. */
  async unprotect(): Promise<void> {
    const { workspace } = await this.stack();
    const args = ["state", "unprotect", "--all", "--yes", "--stack", this.name];
    const env = { ...process.env, ...this.environment };
    await promisify(execFile)("pulumi", args, { cwd: workspace.workDir, env });
  }

  /** The environment in which `pulumi` works on this stack, in the project's folder. */
  async shellEnvironment(): Promise<Readonly<Record<string, string>>> {
    await (await this.stack()).workspace.selectStack(this.name);
    return this.environment;
  }
}
