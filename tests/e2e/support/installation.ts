import type { UpResult } from "@pulumi/pulumi/automation";
import { tell } from "./progress";
import type { ProjectCopy } from "./projectCopy";
import { TestStack } from "./stack";

/** A copy of the project and what its stack has in the cluster, of which there can be one at a time. */
export class Installation {
  readonly stack: TestStack;
  private firstUp: Promise<UpResult> | undefined;
  private isDown = false;

  /** @param name the stack's */
  constructor(
    readonly project: ProjectCopy,
    name: string,
  ) {
    this.stack = new TestStack(project, name);
  }

  /** The first `pulumi up`, done once, however many tests need it. */
  up(): Promise<UpResult> {
    this.firstUp ??= this.stack.up();
    return this.firstUp;
  }

  async destroy(): Promise<void> {
    await this.stack.destroy();
    this.isDown = true;
  }

  /** Takes away what is in the cluster, whatever has happened, and tells how to where that fails. */
  async takeDown(): Promise<void> {
    if (!this.firstUp || this.isDown) return;
    try {
      const broken = await this.firstUp.then(
        () => false,
        () => true,
      );
      if (broken) await this.stack.unlock().catch(() => {});
      await this.stack.unprotect();
      await this.destroy();
    } catch (error) {
      tell("the cluster could not be cleaned up. To do it by hand:");
      process.stderr.write(`${this.stack.destroyCommand}\n`);
      throw error;
    }
  }
}
