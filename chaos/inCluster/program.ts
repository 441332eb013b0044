import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parse, stringify } from "yaml";
import type { OperatorDefinition } from "../../runtime/definition/definition";
import type { Resource } from "../../runtime/kubernetes/resource";
import { HANDLER_FILES, VERSION_FILE } from "../handlerFiles";

/** A way to run an operator. */
export type Execution = "resident" | "pod";

const COPIED = ["index.ts", "components", "runtime", "package.json", "tsconfig.json", "Pulumi.yaml"];
const GROUP = "chaos.example.com";
const VERSION = "v1";

/** Two runners, so that there is a leader and a standby; and runs that go while the run is on. */
const SETTINGS = {
  "argosy:runnerReplicas": 2,
  "argosy:runsKeptSeconds": 120,
  "argosy:failedRunsKeptSeconds": 120,
};

/** What differs between the operators of the two forms. */
const DEFINITIONS: Readonly<Record<Execution, Partial<OperatorDefinition>>> = {
  // A busy machine that all parts share starts a few processes in the time that a handler may take, not many.
  resident: { concurrency: 8, resources: { requests: { cpu: "300m" } } },
  // The resync is what mends whatever no event told of: as often as it may be.
  pod: { execution: "pod", resyncSeconds: 60 },
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

  /**
   * @param project the folder that this program is in
   * @param ledger where the handlers tell what they do outside
   * @param image of Node
   */
  constructor(
    project: string,
    private readonly options: {
      readonly stack: string;
      readonly executions: readonly Execution[];
      readonly ledger: string;
      readonly image: string;
    },
  ) {
    mkdirSync(this.state);
    for (const name of COPIED) {
      cpSync(path.join(project, name), path.join(this.folder, name), { recursive: true });
    }
    symlinkSync(path.join(project, "node_modules"), path.join(this.folder, "node_modules"));
    const { config } = parse(readFileSync(path.join(project, "Pulumi.dev.yaml"), "utf8"));
    const settings = stringify({ config: { ...config, ...SETTINGS } });
    writeFileSync(path.join(this.folder, `Pulumi.${options.stack}.yaml`), settings);
    for (const execution of options.executions) this.writeOperator(execution);
  }

  /** Another version of the handler's files, for the next `pulumi up`. */
  renewHandler(execution: Execution, version: number): void {
    writeFileSync(path.join(this.handlerFolder(execution), VERSION_FILE), String(version));
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
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
