import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { LocalWorkspace, type Stack, type UpOptions, type UpResult } from "@pulumi/pulumi/automation";
import { lastLineTeller } from "./progress";
import type { ProjectCopy } from "./projectCopy";

/** The stack of a copy of the project, its state in files beside it. */
export class TestStack {
  private readonly environment: Record<string, string>;
  private opened: Promise<Stack> | undefined;

  constructor(
    private readonly project: ProjectCopy,
    private readonly name: string,
  ) {
    this.environment = {
      PULUMI_BACKEND_URL: `file://${project.state}`,
      PULUMI_CONFIG_PASSPHRASE: randomUUID(),
      PULUMI_CONFIG_PASSPHRASE_FILE: "",
      // What is copied has been checked; an older program has been so with the packages of its own time.
      PULUMI_NODEJS_TRANSPILE_ONLY: "true",
    };
  }

  /** `pulumi up`. */
  async up(options: Pick<UpOptions, "expectNoChanges"> = {}): Promise<UpResult> {
    return (await this.stack()).up({ ...options, color: "never", onOutput: lastLineTeller("pulumi up") });
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

  /** What somebody types to do by hand what {@link destroy} could not. */
  get destroyCommand(): string {
    const environment = Object.entries(this.environment).map(([name, value]) => `${name}='${value}'`);
    return `cd ${this.project.folder} && ${environment.join(" ")} pulumi destroy --yes --stack ${this.name}`;
  }

  private stack(): Promise<Stack> {
    this.opened ??= LocalWorkspace.createOrSelectStack(
      { stackName: this.name, workDir: this.project.folder },
      { envVars: this.environment },
    );
    return this.opened;
  }
}
