// One operator, its CRD last.
import type * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { conversionNote } from "../definition/customResourceDefinition";
import { formerIdentitiesOf, type Operator } from "../runtime/program";
import type { OperatorManifests } from "./manifests/operator/operator";
import { after, parentIn, registerSet } from "./register";
import { type DataOptions, registerData } from "./registerData";
import { registerRunnerDeployment } from "./runnerDeployment";

/** What a {@link DeployedOperator} is made from. */
export interface DeployedOperatorArgs {
  /** The name of the `Operators` that it is part of. */
  readonly program: string;
  readonly operator: Operator;
  readonly manifests: OperatorManifests;
  /**
   * The resources that the operator needs, such as the event path and the engine's files. The operator is deleted before them.
   */
  readonly needs: readonly (pulumi.Resource | undefined)[];
  /** What becomes of the CRD, and with it of every custom resource. */
  readonly keeping: DataOptions;
}

/**
 * One operator in a cluster: its accounts, its files, its runner or its template of runs, and its CRD. The CRD is created last
 * and deleted first, so that everything that finalizes the custom resources still exists while they are deleted. In Pulumi's
 * tree the CRD is a sibling of this component. `Operators` creates this component; users do not.
 */
export class DeployedOperator extends pulumi.ComponentResource {
  /** The Deployment of its runners. */
  readonly runner: k8s.apps.v1.Deployment;
  /** The service account of its runners. */
  readonly serviceAccount: k8s.core.v1.ServiceAccount;
  /** The service account of its handler. Undefined if the definition has no `rules`. */
  readonly handlerServiceAccount: k8s.core.v1.ServiceAccount | undefined;
  /** The WorkflowTemplate of its runs. Undefined without Argo Workflows. */
  readonly workflowTemplate: k8s.apiextensions.CustomResource | undefined;
  /**
   * Its CRD. Undefined for an operator that watches a kind that others own. With `data` "keep" it is Pulumi's patch of the CRD, which
   * has the same outputs.
   */
  readonly customResourceDefinition: k8s.apiextensions.v1.CustomResourceDefinition | undefined;
  /** The name of its CRD, such as "memcacheds.cache.example.com". Undefined if it has no CRD. */
  readonly crdName: string | undefined;

  constructor(name: string, args: DeployedOperatorArgs, opts: pulumi.ComponentResourceOptions) {
    const { operator, manifests, needs, keeping, program } = args;
    const { runner, crd } = manifests;
    const aliases = formerAliases(operator, program);
    super("argosy:index:Operator", name, {}, pulumi.mergeOptions(opts, { aliases }));
    const child = { parent: this };
    const sibling = parentIn(opts);
    const note = conversionNote(operator);
    if (note !== undefined) void pulumi.log.warn(note, this);

    const parts = registerSet(name, manifests.parts, after(child, needs));
    // A runner of a renamed operator has a different Lease, so the old and the new runner would work at the same time.
    const runnerOptions = after(after({ ...child, deleteBeforeReplace: true }, needs), parts);
    this.runner = registerRunnerDeployment(`${name}-runner`, runner, runnerOptions);
    this.serviceAccount = parts["runner-account"] as k8s.core.v1.ServiceAccount;
    this.handlerServiceAccount = parts["handler-account"] as k8s.core.v1.ServiceAccount | undefined;
    this.workflowTemplate = parts.template as k8s.apiextensions.CustomResource | undefined;

    this.crdName = crd?.metadata.name;
    this.customResourceDefinition =
      crd &&
      (registerData(
        // Without the operator's name, so that a renamed operator keeps its CRD. A replaced CRD would delete every custom
        // resource. And a child of the `Operators`, whose name it begins with: Pulumi finds a renamed component's children by the
        // beginnings of their names.
        `${program}-${crd.metadata.name}`,
        crd,
        keeping,
        {
          ...after(after(after(sibling, needs), parts), [this.runner]),
          customTimeouts: { delete: `${DELETION_SECONDS}s` },
        },
      ) as k8s.apiextensions.v1.CustomResourceDefinition);
    this.registerOutputs({
      ...(this.crdName !== undefined && { crdName: this.crdName }),
    });
  }
}

/**
 * How long Pulumi waits for the deletion of an operator's CRD, and so for the finalizers of all its objects, in seconds: its own limit
 * for a deletion. The annotation that limits the wait for a new CRD would limit this one too.
 */
const DELETION_SECONDS = 600;

/**
 * The names under which Pulumi may know the operator from before it was renamed. The names of its parts begin with its own
 * name, so Pulumi knows them as well. A name in another installation belongs to another program, and so to another stack.
 */
function formerAliases(operator: Operator, program: string): pulumi.Alias[] {
  return formerIdentitiesOf(operator)
    .filter(({ installation }) => installation === operator.installation)
    .map(({ name }) => ({ name: `${program}-${name}` }));
}
