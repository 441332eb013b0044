import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parse, stringify } from "yaml";
import type { OperatorDefinition } from "../../../runtime/definition/definition";
import type { Resource } from "../../../runtime/kubernetes/resource";
import { HANDLER_FILES, VERSION_FILE } from "../handlerFiles";
import { ChaosOptionError } from "./errors";
import { takeProgram, takeProgramAt } from "./programFiles";

/** A way to run an operator. */
export type Execution = "resident" | "pod";

const SETTINGS_FILE = "Pulumi.dev.yaml";
/** Where the engine begins. */
const ENGINE = path.join("runtime", "pod", "main.ts");
const GROUP = "chaos.example.com";
const VERSION = "v1";

/** Two runners, so that there is a leader and a standby; and runs that go while the run is on. */
const SETTINGS = {
  runnerReplicas: 2,
  runsKeptSeconds: 120,
  failedRunsKeptSeconds: 120,
};

/** What differs between the operators of the two forms. */
const DEFINITIONS: Readonly<Record<Execution, Partial<OperatorDefinition>>> = {
  // A busy machine that all parts share starts a few processes in the time that a handler may take, not many.
  resident: { concurrency: 8, resources: { requests: { cpu: "300m" } } },
  // Pods that all begin at once on a small node get in each other's way until none has its answer in time: of these, five
  // fit on two cores, and the others wait their turn. The resync, which mends whatever no event told of, leaves them room.
  pod: {
    execution: "pod",
    resources: { requests: { cpu: "250m" } },
    timeoutSeconds: 30,
    resyncSeconds: 120,
  },
};

/** The name of the operator of a form. */
export function operatorOf(execution: Execution): string {
  return `chaos-${execution}`;
}

/** Its custom resource, as the API serves it. */
export function resourceOf(execution: Execution): Resource {
  const kind = execution === "pod" ? "ChaosPod" : "ChaosResident";
  return { apiVersion: `${GROUP}/${VERSION}`, kind, plural: `${kind.toLowerCase()}s`, namespaced: true };
}

/** A copy of this program in a temporary folder, with an operator for each form and nothing else. */
export class Program {
  private readonly root = mkdtempSync(path.join(tmpdir(), "argosy-chaos-"));
  readonly folder = path.join(this.root, "project");
  /** The state of its stack. */
  readonly state = path.join(this.root, "state");
  private isOlder: boolean;
  private upgrades = 0;

  /**
   * @param project the folder that this program is in
   * @param ledger where the handlers tell what they do outside
   * @param image of Node
   * @throws ChaosOptionError where the commit to begin with is none
   */
  constructor(
    private readonly project: string,
    private readonly options: {
      readonly stack: string;
      readonly executions: readonly Execution[];
      readonly ledger: string;
      readonly image: string;
      /** The commit to begin with. @default the folder as it is */
      readonly from?: string;
    },
  ) {
    mkdirSync(this.state);
    mkdirSync(this.folder);
    if (options.from === undefined) this.copy();
    else this.checkOut(options.from);
    this.isOlder = options.from !== undefined;
    symlinkSync(path.join(project, "node_modules"), path.join(this.folder, "node_modules"));
    for (const execution of options.executions) this.writeOperator(execution);
  }

  /** Another version of the handler's files, for the next `pulumi up`. */
  renewHandler(execution: Execution, version: number): void {
    writeFileSync(path.join(this.handlerFolder(execution), VERSION_FILE), String(version));
  }

  /**
   * What the next `pulumi up` upgrades to: the present program where the stack began with an older one, else the same
   * program with another version of its engine.
   */
  upgrade(): void {
    if (this.isOlder) {
      this.copy();
      this.isOlder = false;
      return;
    }
    const mark = `process.env.ARGOSY_CHAOS_UPGRADES = "${++this.upgrades}";\n`;
    appendFileSync(path.join(this.folder, ENGINE), mark);
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  private copy(): void {
    takeProgram(this.project, this.folder);
    this.writeSettings(readFileSync(path.join(this.project, SETTINGS_FILE), "utf8"));
  }

  private checkOut(commit: string): void {
    try {
      takeProgramAt(commit, this.project, this.folder, SETTINGS_FILE);
    } catch (error) {
      this.remove();
      const [why] = (error as Error).message.split("\n").slice(-2);
      throw new ChaosOptionError(
        "--from <commit>",
        `${why}. Name a commit of ${this.project} that has this program.`,
        { cause: error },
      );
    }
    this.writeSettings(readFileSync(path.join(this.folder, SETTINGS_FILE), "utf8"));
  }

  /** @param text of the settings for a cluster of one's own */
  private writeSettings(text: string): void {
    const { config } = parse(text);
    const settings = stringify({ config: { ...config, ...SETTINGS } });
    writeFileSync(path.join(this.folder, `Pulumi.${this.options.stack}.yaml`), settings);
  }

  private writeOperator(execution: Execution): void {
    const { ledger, image } = this.options;
    const definition: OperatorDefinition = {
      crd: "crd.yaml",
      handler: { image, command: ["node", "main.js"] },
      children: ["ConfigMap", "Secret", "Service"].map((kind) => ({ apiVersion: "v1", kind })),
      finalize: true,
      timeoutSeconds: 10,
      env: { LEDGER: ledger },
      ...DEFINITIONS[execution],
    };
    const files = {
      ...HANDLER_FILES,
      "crd.yaml": stringify(definitionOf(resourceOf(execution))),
      "operator.ts": [
        `import { defineOperator } from "../../runtime/definition/definition";`,
        `export default defineOperator(${JSON.stringify(definition)});`,
      ].join("\n"),
    };
    const folder = this.handlerFolder(execution);
    mkdirSync(folder, { recursive: true });
    for (const [name, content] of Object.entries(files)) writeFileSync(path.join(folder, name), content);
  }

  private handlerFolder(execution: Execution): string {
    return path.join(this.folder, "handlers", operatorOf(execution));
  }
}

/** The CustomResourceDefinition as an author writes it. */
function definitionOf({ kind, plural }: Resource) {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const openAPIV3Schema = { type: "object", properties: { spec: anything } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { kind, plural },
      versions: [{ name: VERSION, served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}
