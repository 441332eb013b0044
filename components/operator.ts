import * as pulumi from "@pulumi/pulumi";
import { formerIdentitiesOf, type Operator as OperatorDefinition } from "../runtime/program";
import type { OperatorFiles } from "./manifests/operator/configMaps";
import { buildCrd, buildOperator } from "./manifests/operator/operator";
import type { OperatorOptions } from "./manifests/operator/options";
import { after, register, registerSet } from "./register";
import { registerRunnerDeployment } from "./runnerDeployment";

/** What an {@link Operator} is made from. */
export interface OperatorArgs extends OperatorOptions {
  /** A definition that has been checked: see `loadOperator`. */
  readonly definition: OperatorDefinition;
  /** Its ConfigMaps: see `buildFiles`. That of the engine is registered by whoever shares it. */
  readonly files: OperatorFiles;
  /** What carries the events of its custom resources, and what its pods need. It goes after them. @default [] */
  readonly beneath?: readonly pulumi.Resource[];
  /** Whether Pulumi refuses to delete the CRD, and with it every custom resource. @default false */
  readonly protect?: boolean;
}

/**
 * One operator: its accounts, its files, what runs it, and its CRD, which comes last and goes first: while its custom
 * resources are deleted, everything that finalizes them still lives.
 *
 * @example
 * ```ts
 * const options = { platform, placement, replicas: 2, runsKeptSeconds: 3600, failedRunsKeptSeconds: 86400 };
 * const files = buildFiles(definition, { ...options, eventPathName: "argosy" }, engine);
 * new Operator("memcached", { ...options, eventPathName: "argosy", definition, files, beneath: [eventPath] });
 * ```
 */
export class Operator extends pulumi.ComponentResource {
  /** Everything but the CRD. */
  readonly workings: readonly pulumi.CustomResource[];
  readonly customResourceDefinition: pulumi.CustomResource;

  constructor(name: string, args: OperatorArgs, opts: pulumi.ComponentResourceOptions = {}) {
    const { definition, files, beneath = [], protect = false } = args;
    super(
      "argosy:index:Operator",
      name,
      {},
      pulumi.mergeOptions(opts, { aliases: formerAliases(definition) }),
    );
    const child = { parent: this };

    const parts = registerSet(name, buildOperator(definition, args, files), after(child, beneath));
    const runner = () =>
      registerRunnerDeployment(
        `${name}-runner`,
        definition,
        args,
        files,
        // A runner of a renamed operator has another Lease than the one before: both would work beside each other.
        after({ ...child, deleteBeforeReplace: true }, [...beneath, ...parts]),
      );
    this.workings = definition.execution === "resident" ? [...parts, runner()] : parts;
    const crd = buildCrd(definition, args);
    // Its own name, so that a renamed operator keeps it: to replace it would delete every custom resource.
    this.customResourceDefinition = register(
      crd.metadata.name,
      crd,
      after({ ...child, protect }, [...beneath, ...this.workings]),
    );
    this.registerOutputs({ customResource: crd.metadata.name });
  }
}

/**
 * Under which names Pulumi may know the operator from before it was renamed. What is below it in Pulumi's tree begins
 * with its name and follows. A name in another installation is one of another program, and so of another stack.
 */
function formerAliases(definition: OperatorDefinition): pulumi.Alias[] {
  return formerIdentitiesOf(definition)
    .filter(({ installation }) => installation === definition.installation)
    .map(({ name }) => ({ name }));
}
