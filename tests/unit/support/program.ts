import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { manifestsOf } from "../../../cli/render/manifests";
import { type ProgramOptions, type RegisteredResource, runProgram } from "../../../cli/render/runProgram";
import { readStackConfiguration } from "../../../cli/render/stackConfiguration";
import type { Manifest } from "../../../runtime/base/objects";

const ROOT = path.resolve(__dirname, "../../..");

/** What Pulumi's engine is told of a resource, including its inputs. */
export interface Registration extends RegisteredResource {
  readonly urn: string;
  /** URNs of what has to exist before, and goes after. */
  readonly dependencies: readonly string[];
  readonly parent: string;
  readonly protect: boolean;
  /** Whether it stays in the cluster if it leaves the program. */
  readonly retainOnDelete: boolean;
  /** Names or URNs that Pulumi may know it by from before. */
  readonly aliases: readonly string[];
  /** Types that Pulumi may know it by from before. */
  readonly aliasTypes: readonly string[];
  /** How long Pulumi waits for its deletion, such as "600s". "" for the provider's own time. */
  readonly deleteTimeout: string;
  readonly deleteBeforeReplace: boolean;
  /** The outputs that Pulumi encrypts in the state. */
  readonly secretOutputs: readonly string[];
}

/** A run of a program under Pulumi's mocks. */
export interface Run {
  readonly registrations: readonly Registration[];
  readonly manifests: readonly Manifest[];
  readonly outputs: unknown;
}

/** @see runStack. The folder is always the same: see {@link FOLDER}. */
export interface StackOptions extends Omit<ProgramOptions, "folder"> {
  /** Configuration on top of the stack's, without the project's prefix. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A folder with the tests' own operators in its handlers/, so that no test depends on this program's operators. */
const FOLDER = path.join(ROOT, "tests/program");

/** Runs this project's program as a stack's configuration has it, with the operators of `tests/program/handlers`. */
export function runStack(stack: string, options: StackOptions = {}): Promise<Run> {
  const configuration = readStackConfiguration(ROOT, stack);
  const settings = Object.entries(options.settings ?? {}).map(([key, value]) => [
    `${configuration.project}:${key}`,
    value,
  ]);
  const values = { ...configuration.values, ...Object.fromEntries(settings) };
  return run(require("../../../index") as () => unknown, { ...options, folder: FOLDER, values });
}

/** How any program is run. */
export interface RunOptions extends ProgramOptions {
  /** Pulumi's configuration, by keys with a prefix. @default none */
  readonly values?: Readonly<Record<string, string>>;
}

/** Runs any program, with the errors of all that it began. */
export async function run(program: () => unknown, options: RunOptions = {}): Promise<Run> {
  const requests = new Map<string, RegisterRequest>();
  const { resources, outputs } = await runProgram(
    () => {
      recordRequests(requests);
      return program();
    },
    { project: "argosy", stack: "test", values: options.values ?? {} },
    options,
  );
  const registrations = resources.map((resource) => {
    const request = requests.get(`${resource.type}::${resource.name}`);
    if (!request) throw new Error(`${resource.name} was never registered`);
    return {
      ...resource,
      urn: request.urn,
      dependencies: request.getDependenciesList(),
      parent: request.getParent(),
      protect: request.getProtect(),
      retainOnDelete: request.getRetainondelete(),
      aliases: request
        .getAliasesList()
        .flatMap((alias) => alias.getSpec()?.getName() || alias.getUrn() || []),
      aliasTypes: request.getAliasesList().flatMap((alias) => alias.getSpec()?.getType() || []),
      deleteTimeout: request.getCustomtimeouts()?.getDelete() ?? "",
      deleteBeforeReplace: request.getDeletebeforereplace(),
      secretOutputs: request.getAdditionalsecretoutputsList(),
    };
  });
  return { registrations, outputs, manifests: options.preview ? [] : manifestsOf(resources) };
}

/** `RegisterResourceRequest` of Pulumi's protocol, as far as it is read here. */
interface RegisterRequest {
  urn: string;
  getType(): string;
  getName(): string;
  getParent(): string;
  getProtect(): boolean;
  getRetainondelete(): boolean;
  getDependenciesList(): string[];
  getDeletebeforereplace(): boolean;
  getAdditionalsecretoutputsList(): string[];
  getCustomtimeouts(): { getDelete(): string } | undefined;
  getAliasesList(): { getSpec(): { getName(): string; getType(): string } | undefined; getUrn(): string }[];
}

type Callback = (error: unknown, response: { getUrn(): string } | undefined) => void;
interface Monitor {
  registerResource(request: RegisterRequest, callback: Callback): Promise<void>;
}

/** Mocks are told neither dependencies nor parents: the requests have them. */
function recordRequests(requests: Map<string, RegisterRequest>): void {
  const monitor = (pulumi.runtime as unknown as { getMonitor(): Monitor }).getMonitor();
  const register = monitor.registerResource.bind(monitor);
  monitor.registerResource = (request, callback) =>
    register(request, (error, response) => {
      request.urn = response?.getUrn() ?? "";
      requests.set(`${request.getType()}::${request.getName()}`, request);
      callback(error, response);
    });
}

/** The name of a resource in Pulumi's tree, for an immutable ConfigMap without the hash of its content. */
export function roleOf(name: string): string {
  return name.replace(/-[0-9a-f]{10}$/, "");
}
