import { readFileSync } from "node:fs";
import path from "node:path";
import type { Operators, Platform } from "@argosy-dev/argosy";
import * as pulumi from "@pulumi/pulumi";
import { type Args, createOperators } from "./operators";

const schema = readFileSync(path.join(__dirname, "..", "schema.json"), "utf8");
const { name, version } = JSON.parse(schema) as { readonly name: string; readonly version: string };

/** The outputs, as schema.json has them. */
interface State {
  readonly crdNames: string[];
  readonly platform: Platform;
  readonly runners: Readonly<Record<string, pulumi.Output<string>>>;
  readonly argoServer: pulumi.Output<string> | undefined;
}

/** Creates the component for a program in another language. The plugin runs in that program's folder. */
const provider: pulumi.provider.Provider = {
  version,
  schema,
  async construct(componentName, type, inputs, options) {
    if (type !== `${name}:index:Operators`)
      throw new pulumi.RunError(`${type} is not a type of the package ${name}.`);
    const operators = await createOperators(componentName, inputs as Args, options);
    return { urn: operators.urn, state: { ...stateOf(operators) } };
  },
};

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
