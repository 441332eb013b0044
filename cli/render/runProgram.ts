import type * as Pulumi from "@pulumi/pulumi";
import { withoutCluster } from "../../preflight/withoutCluster";
import type { StackConfiguration } from "./stackConfiguration";
import { noteNoPromiseStacks, noteNoResourceStacks } from "./stackTraces";

/** A resource as the program has registered it. */
export interface RegisteredResource {
  /** Pulumi's type: "kubernetes:core/v1:ConfigMap". */
  readonly type: string;
  readonly name: string;
  /** Its inputs, every output resolved. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Whether a provider creates it. False for a component. */
  readonly custom: boolean;
}

/** @see runProgram */
export interface ProgramRun {
  readonly resources: readonly RegisteredResource[];
  /** The program's outputs for the stack. */
  readonly outputs: unknown;
}

/** The options of {@link runProgram}. */
export interface ProgramOptions {
  /** The working folder while the program runs: Pulumi runs a program in its own. @default that of the process */
  readonly folder?: string;
  /** Behave as in a preview of a stack that does not exist yet: values that only a cluster knows are unknown. @default false */
  readonly preview?: boolean;
  /** Whether components look into the cluster that the program names, as under `pulumi preview`. @default false */
  readonly cluster?: boolean;
  /** Returns the outputs of a stack that the program refers to. @default it is refused */
  readonly stackOutputs?: (stack: string) => Record<string, unknown>;
}

/**
 * Runs a Pulumi program to its end without Pulumi's engine and without a cluster, and returns the resources that it registered.
 * It waits for everything that the program has started, and throws every error, even if the program does not await it. If the
 * program uses something that only the engine or a provider can do, a RunError is thrown, even if the program would go on without
 * it.
 *
 * Only one program can run at a time: Pulumi's state is the process's.
 *
 * @example
 * ```ts
 * const { resources } = await runProgram(() => new ArgoPlatform("argosy", options), { project, stack, values });
 * ```
 */
export async function runProgram(
  program: () => unknown,
  { project, stack, values }: StackConfiguration,
  options: ProgramOptions = {},
): Promise<ProgramRun> {
  const pulumi = sdkOf(options.folder);
  const resources: RegisteredResource[] = [];
  const references = new Set<string>();
  const refusals: Pulumi.RunError[] = [];
  // Pulumi wraps the errors of a mock, and a program may catch them.
  const refusal = (message: string): Pulumi.RunError => {
    const error = new pulumi.RunError(message);
    refusals.push(error);
    return error;
  };
  const mocks: Pulumi.runtime.Mocks = {
    newResource: ({ type, name, inputs, custom = false, transforms = [] }) => {
      if (type === STACK_REFERENCE) {
        const stack = String(inputs.name ?? name);
        if (references.has(name)) throw refusal(`two StackReferences are named ${name}. Rename one of them.`);
        references.add(name);
        if (!options.stackOutputs) throw refusal(noOutputsOf(stack));
        const outputs = options.stackOutputs(stack);
        return { id: stack, state: { name: stack, outputs, secretOutputNames: [] } };
      }
      if (transforms.length > 0) throw refusal(noTransforms(name));
      resources.push({ type, name, inputs, custom });
      // Pulumi takes the inputs for what the state does not have, but in a preview for unknown.
      return options.preview ? { id: undefined, state: inputs } : { id: `${name}-id`, state: {} };
    },
    call: ({ token }) => {
      throw refusal(`${token} needs a provider, and there is none here. Use pulumi preview.`);
    },
    registerTransform: () => void refusal(noTransforms(`the stack ${stack}`)),
  };
  const play = async () => {
    await pulumi.runtime.setMocks(mocks, project, stack, options.preview ?? false);
    pulumi.runtime.setAllConfig(values, []);
    const result = await pulumi.runtime.runInPulumiStack(async () => program());
    // Only this waits for registrations that are still in progress.
    await pulumi.runtime.disconnect();
    return result;
  };
  const run = options.cluster ? play : () => withoutCluster(play);
  const outputs = await inFolder(options.folder, () => withoutOutput(run)).catch((error: unknown) => {
    throw refusals[0] ?? error;
  });
  if (refusals[0]) throw refusals[0];
  return { resources, outputs };
}

/** The copy of Pulumi's SDK that a program in this folder gets, because the program registers its resources there. */
function sdkOf(folder: string | undefined): typeof Pulumi {
  const paths = [...(folder === undefined ? [] : [folder]), __dirname];
  const sdk = require(require.resolve("@pulumi/pulumi", { paths }));
  noteNoPromiseStacks(promisesOf(paths));
  noteNoResourceStacks(sdk);
  return sdk;
}

/** The SDK's own module that handles all its promises. Other versions may not have it. */
function promisesOf(paths: string[]): unknown {
  try {
    return require(require.resolve("@pulumi/pulumi/runtime/debuggable", { paths }));
  } catch {
    return undefined;
  }
}

const STACK_REFERENCE = "pulumi:pulumi:StackReference";

function noOutputsOf(stack: string): string {
  return (
    `the program needs the outputs of the stack ${stack}, which are not available without Pulumi. ` +
    "Give them with --platform FILE, created by pulumi stack output --json --stack NAME."
  );
}

function noTransforms(name: string): string {
  return (
    `${name} has a transform, which only Pulumi's engine runs, so the rendered objects would differ from those of pulumi up. ` +
    "Set the field in the component's options, or use pulumi preview."
  );
}

async function inFolder<Result>(folder: string | undefined, run: () => Promise<Result>): Promise<Result> {
  const before = process.cwd();
  process.chdir(folder ?? before);
  try {
    return await run();
  } finally {
    process.chdir(before);
  }
}

/** The beginning of lines from `pulumi.log.info` if there is no engine (sdk/nodejs/log/index.ts). */
const PREVIEW_LINE = "info: [runtime]";

/**
 * Runs an action. Everything that it prints goes to standard error, because standard output is for the rendered manifests.
 * Messages that Pulumi would show only in a preview are left out.
 */
async function withoutOutput<Result>(run: () => Promise<Result>): Promise<Result> {
  const { write } = process.stdout;
  // Every method of the console writes here, and so does a program that writes to the stream itself.
  process.stdout.write = (...args: [string | Uint8Array, ...never[]]) =>
    String(args[0]).startsWith(PREVIEW_LINE) || process.stderr.write(...args);
  try {
    return await collectRejections(run);
  } finally {
    process.stdout.write = write;
  }
}

/**
 * Runs a function, and throws the first rejection that was not handled while it ran. A failed registration is such a rejection,
 * because a program does not await its resources.
 */
async function collectRejections<Result>(run: () => Promise<Result>): Promise<Result> {
  const errors: unknown[] = [];
  const collect = (error: unknown): void => void errors.push(error);
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", collect);
  // A failure also rejects further promises, which the program does not handle.
  const result = await run().catch(collect);
  // Node reports rejections after the microtasks.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", collect);
  for (const listener of others) process.on("unhandledRejection", listener);
  if (errors.length > 0) throw errors[0];
  return result as Result;
}
