import { readFileSync } from "node:fs";
import path from "node:path";
import { Operators, platformOfStack } from "@argosy-dev/argosy";
import * as pulumi from "@pulumi/pulumi";
import type * as contract from "./contract";

const schema = readFileSync(path.join(__dirname, "..", "schema.json"), "utf8");
const { name, version } = JSON.parse(schema) as { readonly name: string; readonly version: string };

/** The arguments as the program sends them: an enum's value is plain text. */
type Args = Plain<contract.OperatorsArgs>;
type Plain<Value> = Value extends string
  ? `${Value}`
  : Value extends number | boolean | undefined | Promise<unknown> | pulumi.Output<unknown>
    ? Value
    : { [Field in keyof Value]: Plain<Value[Field]> };

/** The outputs that the contract promises. */
type State = { readonly [Name in keyof Outputs]: pulumi.Input<Outputs[Name]> | undefined };
interface Outputs {
  readonly crdNames: string[];
  readonly platform: contract.ExistingPlatform;
  readonly runners: Record<string, string>;
  readonly argoServer: string;
}

/** Creates the component for a program in another language. The plugin runs in that program's folder. */
const provider: pulumi.provider.Provider = {
  version,
  schema,
  async construct(componentName, type, inputs, options) {
    if (type !== `${name}:index:Operators`)
      throw new pulumi.RunError(`${type} is not a type of the package ${name}.`);
    const operators = await build(componentName, inputs as Args, options);
    return { urn: operators.urn, state: { ...stateOf(operators) } };
  },
};

async function build(
  componentName: string,
  args: Args,
  options: pulumi.ComponentResourceOptions,
): Promise<Operators> {
  const { platformStack, ...others } = args;
  const { handlers, installation, overrides, platform } = others;
  const component = `Operators "${componentName}"`;
  const decisive = { handlers, installation, overrides, platform, platformStack };
  for (const [field, value] of Object.entries(decisive)) {
    if (!pulumi.Output.isInstance(value)) continue;
    throw new pulumi.RunError(
      `${component}: ${field} is not known yet. Give a value that the program knows.`,
    );
  }
  if (platformStack === undefined) return new Operators(componentName, others, options);
  if (platform !== undefined)
    throw new pulumi.RunError(`${component}: platform and platformStack are both given. Give one of them.`);
  const existing = await platformOfStack(platformStack);
  return new Operators(componentName, { ...others, platform: existing }, options);
}

function stateOf({ crdNames, platform, operators, argoPlatform }: Operators): State {
  const runners = Object.entries(operators).flatMap(([operator, { runner }]) =>
    runner ? [[operator, runner.metadata.name]] : [],
  );
  return {
    crdNames: [...crdNames],
    platform,
    runners: Object.fromEntries(runners),
    argoServer: argoPlatform?.argoServer?.metadata.name,
  };
}

void pulumi.provider.main(provider, process.argv.slice(2));
