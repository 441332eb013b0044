import { randomUUID } from "node:crypto";
import { LocalWorkspace, type Stack } from "@pulumi/pulumi/automation";

/** A copy of the program, and the place of its stacks' state. */
export interface StackPlace {
  readonly folder: string;
  readonly state: string;
}

/** The stack of a copy of the program, its state in files next to it. */
export class FileStack {
  /** The environment of `pulumi` for this stack. */
  protected readonly environment: Readonly<Record<string, string>>;
  private opened: Promise<Stack> | undefined;

  constructor(
    private readonly place: StackPlace,
    protected readonly name: string,
  ) {
    this.environment = {
      PULUMI_BACKEND_URL: `file://${place.state}`,
      PULUMI_CONFIG_PASSPHRASE: randomUUID(),
      PULUMI_CONFIG_PASSPHRASE_FILE: "",
      // The copied program has already been checked, and an older program was checked with its own packages. On a busy machine
      // this check takes longer than everything else.
      PULUMI_NODEJS_TRANSPILE_ONLY: "true",
    };
  }

  /** The command to destroy the stack by hand if `destroy` failed. */
  get destroyCommand(): string {
    const environment = Object.entries(this.environment).map(([name, value]) => `${name}='${value}'`);
    return `cd ${this.place.folder} && ${environment.join(" ")} pulumi destroy --yes --stack ${this.name}`;
  }

  protected stack(): Promise<Stack> {
    this.opened ??= LocalWorkspace.createOrSelectStack(
      { stackName: this.name, workDir: this.place.folder },
      { envVars: { ...this.environment } },
    );
    return this.opened;
  }
}
