import {
  type ConfiguredOperatorsArgs,
  configuredOperators,
  Operators,
  platformOfStack,
} from "@argosy-dev/argosy";
import * as pulumi from "@pulumi/pulumi";

/** The arguments of the component. Its schema.json is generated from those of the package. */
export interface Args extends ConfiguredOperatorsArgs {
  readonly configured?: boolean;
  readonly platformStack?: string;
}

/**
 * Creates `Operators`, with what the stack's configuration gives if the program asks for it.
 * @throws RunError if an argument is not known yet on which names depend
 */
export async function createOperators(
  componentName: string,
  args: Args,
  options: pulumi.ComponentResourceOptions,
): Promise<Operators> {
  const { configured, ownKeys = [], platformStack, ...others } = args;
  const { handlers, installation, overrides, platform } = others;
  const component = `Operators "${componentName}"`;
  const decisive = { configured, ownKeys, handlers, installation, overrides, platform, platformStack };
  for (const [field, value] of Object.entries(decisive)) {
    if (!pulumi.Output.isInstance(value)) continue;
    throw new pulumi.RunError(
      `${component}: ${field} is not known yet. Give a value that the program knows.`,
    );
  }
  if (configured) {
    if (platformStack !== undefined)
      throw new pulumi.RunError(`${component}: platformStack is given. Set the key platformStack instead.`);
    return createConfigured(componentName, { ...others, ownKeys }, options);
  }
  if (platformStack === undefined) return new Operators(componentName, others, options);
  if (platform !== undefined)
    throw new pulumi.RunError(`${component}: platform and platformStack are both given. Give one of them.`);
  const existing = await platformOfStack(platformStack);
  return new Operators(componentName, { ...others, platform: existing }, options);
}

async function createConfigured(
  componentName: string,
  args: ConfiguredOperatorsArgs,
  options: pulumi.ComponentResourceOptions,
): Promise<Operators> {
  const project = pulumi.getProject();
  if (new pulumi.Config(project).get("parts") === "platform")
    throw new pulumi.RunError(
      `${project}:parts is "platform". Only a program in TypeScript or JavaScript can have a platform without operators.`,
    );
  const { operators } = await configuredOperators(componentName, args, options);
  return operators as Operators;
}
