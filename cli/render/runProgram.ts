import { devNull } from "node:os";
import * as pulumi from "@pulumi/pulumi";
import type { StackConfiguration } from "./stackConfiguration";

/** A resource as the program has registered it. */
export interface RegisteredResource {
  /** Pulumi's type: "kubernetes:core/v1:ConfigMap". */
  readonly type: string;
  readonly name: string;
  /** Its inputs, every output resolved. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Whether a provider makes it; a component is none of these. */
  readonly custom: boolean;
  /** Whether the program changes it by transforms, which do not run here. */
  readonly transformed: boolean;
}

/** @see runProgram */
export interface ProgramRun {
  readonly resources: readonly RegisteredResource[];
  /** What the program gives as the stack's outputs. */
  readonly outputs: unknown;
}

/** How {@link runProgram} plays Pulumi's engine. */
export interface ProgramOptions {
  /** As in a preview of a stack that does not exist yet: nothing that only a cluster can tell is known. @default false */
  readonly preview?: boolean;
  /** Answers the outputs of a stack that the program refers to. @default a refusal */
  readonly stackOutputs?: (stack: string) => Record<string, unknown>;
}

/**
 * Runs a Pulumi program to its end without Pulumi's engine and without a cluster, and tells what it registered. It
 * waits for everything that the program has begun; an error in any of it is thrown, also one that nobody awaits.
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
  const resources: RegisteredResource[] = [];
  let transforms = false;
  const mocks: pulumi.runtime.Mocks = {
    newResource: (resource) => {
      if (resource.type === STACK_REFERENCE) return referredStack(resource, options);
      const { type, name, inputs, custom = false } = resource;
      const transformed = transforms || (resource.transforms ?? []).length > 0;
      resources.push({ type, name, inputs, custom, transformed });
      return { id: options.preview ? undefined : `${name}-id`, state: inputs };
    },
    call: ({ token }) => {
      throw new Error(`${token} asks a provider, and there is none here`);
    },
    registerTransform: () => {
      transforms = true;
    },
  };
  const outputs = await withoutCluster(async () => {
    await pulumi.runtime.setMocks(mocks, project, stack, options.preview ?? false);
    pulumi.runtime.setAllConfig({ ...values }, []);
    const result = await pulumi.runtime.runInPulumiStack(async () => program());
    // Only this waits for the registrations that are still on their way.
    await pulumi.runtime.disconnect();
    return result;
  });
  return { resources, outputs };
}

/** Runs something that finds no kubeconfig: two runs must not differ by whose cluster is at hand. */
async function withoutCluster<Result>(run: () => Promise<Result>): Promise<Result> {
  const { KUBECONFIG } = process.env;
  process.env.KUBECONFIG = devNull;
  try {
    return await collectRejections(run);
  } finally {
    if (KUBECONFIG === undefined) delete process.env.KUBECONFIG;
    else process.env.KUBECONFIG = KUBECONFIG;
  }
}

const STACK_REFERENCE = "pulumi:pulumi:StackReference";

function referredStack(
  { name }: pulumi.runtime.MockResourceArgs,
  { stackOutputs }: ProgramOptions,
): pulumi.runtime.MockResourceResult {
  if (!stackOutputs) {
    throw new pulumi.RunError(
      `the outputs of the stack ${name} are asked for, and without Pulumi they are not to be had. ` +
        "Give them by --platform FILE, made by pulumi stack output --json --stack NAME.",
    );
  }
  return { id: name, state: { name, outputs: stackOutputs(name), secretOutputNames: [] } };
}

/**
 * Runs something and throws the first rejection that nobody handled meanwhile: a failed registration is one, since a
 * program does not await its resources.
 */
async function collectRejections<Result>(run: () => Promise<Result>): Promise<Result> {
  const errors: unknown[] = [];
  const collect = (error: unknown): void => void errors.push(error);
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", collect);
  try {
    const result = await run();
    // Node reports rejections when the microtasks are done.
    await new Promise((resolve) => setImmediate(resolve));
    if (errors.length > 0) throw errors[0];
    return result;
  } finally {
    process.off("unhandledRejection", collect);
    for (const listener of others) process.on("unhandledRejection", listener);
  }
}
