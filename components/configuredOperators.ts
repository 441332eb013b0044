// Operators and platform as a stack's configuration says.
import type * as pulumi from "@pulumi/pulumi";
import { ArgoPlatform } from "./argoPlatform";
import { type ConfiguredOperatorsArgs, readConfiguration } from "./arguments/configuration";
import type { Platform } from "./manifests/platform/options";
import { Operators } from "./operators";
import { platformArguments } from "./operatorsPlan";
import { platformOfStack } from "./platform";

/** What `configuredOperators` has created. */
export interface ConfiguredOperators {
  /** The platform. Export it as the output `platform` of the stack if other stacks use the platform. */
  readonly platform: Platform;
  /** The names of the operators' CRDs. */
  readonly crdNames: readonly string[];
  /** The operators. Undefined in a stack with `parts` "platform". */
  readonly operators: Operators | undefined;
  /** The platform's component. Undefined in a stack with `parts` "operators". */
  readonly argoPlatform: ArgoPlatform | undefined;
}

/**
 * Creates operators and their platform as the stack's configuration says: docs/reference/configuration.md has its keys. With the
 * key `parts`, a stack has only the platform, or only the operators.
 *
 * @throws ConfigurationError, before any object is registered, that names every key that is wrong or unknown
 *
 * @example
 * ```ts
 * import { configuredOperators } from "@argosy-dev/argosy";
 *
 * module.exports = async () => {
 *   const { platform, crdNames } = await configuredOperators("argosy", { handlers: "./handlers" });
 *   return { platform, crdNames };
 * };
 * ```
 */
export async function configuredOperators(
  name: string,
  given: ConfiguredOperatorsArgs,
  opts: pulumi.ComponentResourceOptions = {},
): Promise<ConfiguredOperators> {
  const { parts, platformStack = "", args } = readConfiguration(given);
  if (parts === "platform") {
    const argoPlatform = new ArgoPlatform(`${name}-platform`, platformArguments(args, args.platform), opts);
    return { platform: argoPlatform.platform, crdNames: [], operators: undefined, argoPlatform };
  }
  const platform = parts === "operators" ? await platformOfStack(platformStack) : (args.platform ?? {});
  const operators = new Operators(name, { ...args, platform }, opts);
  const { argoPlatform, crdNames } = operators;
  return { platform: operators.platform, crdNames, operators, argoPlatform };
}
