import { randomUUID } from "node:crypto";
import { LocalWorkspace, type Stack } from "@pulumi/pulumi/automation";

/** A copy of the program, and where the state of its stacks is. */
export interface StackPlace {
  readonly folder: string;
  readonly state: string;
}

/** The stack of a copy of the program, its state in files beside it. */
export class FileStack {
  /** In which `pulumi` works on it. */
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
      // What is copied has been checked, an older program with the packages of its own time; on a busy machine checking
      // takes longer than all the rest.
      PULUMI_NODEJS_TRANSPILE_ONLY: "true",
    };
  }

  /** What somebody types to do by hand what a `destroy` could not. */
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
