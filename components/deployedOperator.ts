import type * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { formerIdentitiesOf, type Operator } from "../runtime/program";
import type { OperatorManifests } from "./manifests/operator/operator";
import { after, register, registerSet } from "./register";
import { registerRunnerDeployment } from "./runnerDeployment";

/** What a {@link DeployedOperator} is made from. */
export interface DeployedOperatorArgs {
  /** The name of the `Operators` that it is part of. */
  readonly program: string;
  readonly operator: Operator;
  readonly manifests: OperatorManifests;
  /** The number of runners, if it is only known later. */
  readonly laterReplicas?: pulumi.Input<number>;
  /** What carries the events of its custom resources, and what its pods need. The operator is deleted before these. */
  readonly needs: readonly pulumi.Resource[];
  /** Whether Pulumi refuses to delete the CRD, and with it every custom resource. */
  readonly protect: boolean;
}

/**
 * One operator in a cluster: its accounts, its files, what runs it, and its CRD, which comes last and goes first: while its
 * custom resources are deleted, everything that finalizes them still lives. A part of `Operators`, not made by users.
 */
export class DeployedOperator extends pulumi.ComponentResource {
  /** The Deployment of its runners. Undefined for an operator of the form "pod". */
  readonly runner: k8s.apps.v1.Deployment | undefined;
  /** The account of its runners, or of its runs. */
  readonly serviceAccount: k8s.core.v1.ServiceAccount;
  /** The account of its handler. Undefined for a handler without `rules`. */
  readonly handlerServiceAccount: k8s.core.v1.ServiceAccount | undefined;
  /** What its runs are made of as Workflows. Undefined without Argo Workflows. */
  readonly workflowTemplate: k8s.apiextensions.CustomResource | undefined;
  /** Undefined for an operator that watches a kind that others own. */
  readonly customResourceDefinition: k8s.apiextensions.v1.CustomResourceDefinition | undefined;
  /** The name of its CRD: "memcacheds.cache.example.com". Undefined if it has none. */
  readonly customResource: string | undefined;

  constructor(name: string, args: DeployedOperatorArgs, opts: pulumi.ComponentResourceOptions) {
    const { operator, manifests, laterReplicas, needs, protect, program } = args;
    const { runner, crd } = manifests;
    const aliases = formerAliases(operator, program);
    super("argosy:index:Operator", name, {}, pulumi.mergeOptions(opts, { aliases }));
    const child = { parent: this };

    const parts = registerSet(name, manifests.parts, after(child, needs));
    // A runner of a renamed operator has another Lease than the one before: both would work beside each other.
    const runnerOptions = after(after({ ...child, deleteBeforeReplace: true }, needs), parts);
    this.runner =
      runner && registerRunnerDeployment(`${name}-runner`, { runner, laterReplicas }, runnerOptions);
    this.serviceAccount = parts["runner-account"] as k8s.core.v1.ServiceAccount;
    this.handlerServiceAccount = parts["handler-account"] as k8s.core.v1.ServiceAccount | undefined;
    this.workflowTemplate = parts.template as k8s.apiextensions.CustomResource | undefined;

    this.customResource = crd?.metadata.name;
    this.customResourceDefinition =
      crd &&
      (register(
        // Without the operator's name, so that a renamed operator keeps it: to replace it would delete every custom resource.
        `${program}-${crd.metadata.name}`,
        crd,
        after(after(after({ ...child, protect }, needs), parts), this.runner ? [this.runner] : []),
      ) as k8s.apiextensions.v1.CustomResourceDefinition);
    this.registerOutputs({
      ...(this.customResource !== undefined && { customResource: this.customResource }),
    });
  }
}

/**
 * Under which names Pulumi may know the operator from before it was renamed. The names of its parts begin with its own
 * name, so Pulumi knows them as well. A name in another installation is one of another program, and so of another stack.
 */
function formerAliases(operator: Operator, program: string): pulumi.Alias[] {
  return formerIdentitiesOf(operator)
    .filter(({ installation }) => installation === operator.installation)
    .map(({ name }) => ({ name: `${program}-${name}` }));
}
