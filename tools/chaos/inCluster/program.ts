import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parse, stringify } from "yaml";
import type { OperatorDefinition } from "../../../definition/schema";
import type { Resource } from "../../../runtime/base/resource";
import { engineOf, installProgram, installProgramAt, takeProgram } from "../../installProgram";
import { HANDLER_FILES, VERSION_FILE } from "../handlerFiles";
import { ChaosOptionError } from "./errors";

/** A way to run an operator. */
export type Execution = "resident" | "pod";

const SETTINGS_FILE = "Pulumi.dev.yaml";
const GROUP = "chaos.example.com";
const VERSION = "v1";

/** Two runners, so that there is a leader and a standby. Recorded runs are deleted during the chaos run. */
const SETTINGS = {
  runnerReplicas: 2,
  runsKeptSeconds: 120,
  failedRunsKeptSeconds: 120,
};

/** The differences between the operators of the two forms. */
const DEFINITIONS: Readonly<Record<Execution, Partial<OperatorDefinition>>> = {
  // A busy machine that all parts share can start only a few processes in the time that a handler may take.
  resident: { concurrency: 8, resources: { requests: { cpu: "300m" } } },
  // If too many pods start at the same time on a small node, none of them answers in time. Five of these fit on two cores, and
  // the others wait.
  pod: { execution: "pod", resources: { requests: { cpu: "250m" } }, timeoutSeconds: 30 },
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

/** The versions of the program that a chaos run upgrades between, each installed in a folder: see `installProgram`. */
export interface Versions {
  readonly present: string;
  /** The first version of the run. @default the present version */
  readonly older?: string;
}

/**
 * Installs the versions of the program.
 *
 * @param project - the folder that this program is in
 * @param folder - where they are installed
 * @param from - the commit to begin with
 * @throws ChaosOptionError if this commit cannot be installed
 */
export function installVersions(project: string, folder: string, from?: string): Versions {
  const present = path.join(folder, "present");
  if (from === undefined) {
    installProgram(project, present);
    return { present };
  }
  const older = path.join(folder, "older");
  try {
    installProgramAt(from, project, older);
  } catch (error) {
    const [why] = (error as Error).message.trim().split("\n").slice(-1);
    const remedy = `Name a commit of ${project} that has this program as a package.`;
    throw new ChaosOptionError("--from <commit>", `${why}. ${remedy}`, { cause: error });
  }
  installProgram(project, present);
  return { present, older };
}

/** A program in a temporary folder, on the packed package, with an operator for each form and nothing else. */
export class Program {
  private readonly root = mkdtempSync(path.join(tmpdir(), "argosy-chaos-"));
  readonly folder = path.join(this.root, "project");
  /** The state of its stack. */
  readonly state = path.join(this.root, "state");
  private readonly versions: Versions;
  private isOlder: boolean;
  private upgrades = 0;

  constructor(
    private readonly options: {
      readonly stack: string;
      readonly executions: readonly Execution[];
      /** The address to which the handlers report their effects outside. */
      readonly ledger: string;
      /** An image of Node. */
      readonly image: string;
      /** Whether the pods of runs have no init container of Argo's own. */
      readonly initlessPods: boolean;
      /** Installs the versions in a folder: see {@link installVersions}. */
      readonly install: (folder: string) => Versions;
    },
  ) {
    mkdirSync(this.state);
    mkdirSync(this.folder);
    try {
      this.versions = options.install(this.root);
    } catch (error) {
      this.remove();
      throw error;
    }
    this.isOlder = this.versions.older !== undefined;
    this.take(this.versions.older ?? this.versions.present);
    for (const execution of options.executions) this.writeOperator(execution);
  }

  /** Writes another version of the handler's files, for the next `pulumi up`. */
  renewHandler(execution: Execution, version: number): void {
    writeFileSync(path.join(this.handlerFolder(execution), VERSION_FILE), String(version));
  }

  /**
   * Prepares the upgrade by the next `pulumi up`: to the present version if the stack began with an older one, or else to the
   * same version with another engine.
   */
  upgrade(): void {
    if (this.isOlder) {
      this.take(this.versions.present);
      this.isOlder = false;
      return;
    }
    const mark = `process.env.ARGOSY_CHAOS_UPGRADES = "${++this.upgrades}";\n`;
    appendFileSync(engineOf(this.folder), mark);
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  private take(version: string): void {
    takeProgram(version, this.folder);
    const { config } = parse(readFileSync(path.join(version, SETTINGS_FILE), "utf8"));
    const { initlessPods } = this.options;
    const settings = stringify({ config: { ...config, ...SETTINGS, ...(initlessPods && { initlessPods }) } });
    writeFileSync(path.join(this.folder, `Pulumi.${this.options.stack}.yaml`), settings);
  }

  private writeOperator(execution: Execution): void {
    const { ledger, image } = this.options;
    const definition: OperatorDefinition = {
      crd: "crd.yaml",
      handler: { image, command: ["node", "main.js"] },
      children: ["v1/ConfigMap", "v1/Secret", "v1/Service"],
      finalize: true,
      timeoutSeconds: 10,
      // A resync would repair losses before the oracle sees them, so there is none for a day.
      resyncSeconds: 86_400,
      env: { LEDGER: ledger },
      ...DEFINITIONS[execution],
    };
    const files = {
      ...HANDLER_FILES,
      "crd.yaml": stringify(definitionOf(resourceOf(execution))),
      "operator.yaml": stringify(definition),
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
