// Argo's controllers, in the order of their creation and deletion.
import type * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { NeededNamespace } from "../preflight/checkNamespaces";
import { checkPlatform } from "../preflight/checkPlatform";
import type { ArgoPlatformArgs } from "./arguments/arguments";
import { type CompletePlatformArgs, completePlatformArgs } from "./arguments/completeArguments";
import { hasPlaceholders } from "./arguments/inputs";
import { componentNamed, withReadableErrors } from "./errors";
import { afterCheck, checkInCluster } from "./inCluster/checkInCluster";
import { claim, claimant } from "./inCluster/claims";
import { type Cluster, provideCluster } from "./inCluster/cluster";
import { type Claim, isOfProgram, thisProgram } from "./inCluster/thisRun";
import { checkSdk } from "./kubernetesSdk";
import { madeBy } from "./manifests/installation";
import type { ConfigMap } from "./manifests/kinds";
import type { ManifestSet } from "./manifests/metadata";
import { buildMonitoring } from "./manifests/monitoring/monitoring";
import { buildArgoEventsController } from "./manifests/platform/argoEvents";
import { buildArgoServer } from "./manifests/platform/argoServer";
import { buildArgoEventsDefinitions, buildArgoWorkflowsDefinitions } from "./manifests/platform/definitions";
import { buildNamespaces, namespacesOf } from "./manifests/platform/namespaces";
import { ownsController, type Platform } from "./manifests/platform/options";
import { buildSubmitter, buildViewer } from "./manifests/platform/users";
import { buildWorkflowController } from "./manifests/platform/workflowController";
import { platformOf } from "./platform";
import { after, comesAfter, registerSet } from "./register";
import { registerDataSet } from "./registerData";
import { leaveOutUndefined } from "./undefinedProperties";

/**
 * The platform of operators: Argo Events, Argo Workflows and argo-server. Each of their objects is a resource of the program, so
 * that previews, tests and reviews see every one of them. Argo's controllers have rights in only one namespace.
 *
 * @example
 * ```ts
 * import { ArgoPlatform } from "@argosy-dev/argosy";
 *
 * const argo = new ArgoPlatform("argo", { argoWorkflows: "share", data: "protect" });
 *
 * // For the stacks that have operators on it.
 * export const platform = argo.platform;
 * export const argoServer = argo.argoServer?.metadata.name;
 * ```
 */
export class ArgoPlatform extends pulumi.ComponentResource {
  /**
   * The facts about the platform that operators need. Export it as the output `platform` of the stack if other stacks use the
   * platform.
   */
  readonly platform: Platform;
  /**
   * The namespace of operators, their events and their runs. Undefined if the platform does not create it. With `data` "keep" it is
   * Pulumi's patch of the namespace, which has the same outputs.
   */
  readonly namespace: k8s.core.v1.Namespace | undefined;
  /** The namespace of Argo's controllers. Undefined if the platform does not create it. */
  readonly controllerNamespace: k8s.core.v1.Namespace | undefined;
  /** The controller of Argo Events. Undefined if the platform does not create it. */
  readonly argoEventsController: k8s.apps.v1.Deployment | undefined;
  /** The controller of Argo Workflows. Undefined if the platform does not create it. */
  readonly workflowController: k8s.apps.v1.Deployment | undefined;
  /** The Service of argo-server, which has the UI. Undefined if the platform does not create it. */
  readonly argoServer: k8s.core.v1.Service | undefined;
  /** The service account that sees everything in the UI. Undefined without Argo Workflows. */
  readonly viewer: k8s.core.v1.ServiceAccount | undefined;
  /** The service account that may also submit runs. Undefined unless `argoWorkflows` is "install". */
  readonly submitter: k8s.core.v1.ServiceAccount | undefined;

  /**
   * @throws ConfigurationError, before any object is registered, that names every argument that is wrong, or what another component
   *   of the program already has
   */
  constructor(name: string, args: ArgoPlatformArgs = {}, opts: pulumi.ComponentResourceOptions = {}) {
    const component = componentNamed("ArgoPlatform", name);
    checkSdk(component);
    const complete = completePlatformArgs(args, component);
    const sets = withReadableErrors(() => buildSets(complete));
    const { cluster, options } = provideCluster(name, args.cluster, opts);
    const installers = installersFor(complete, cluster);
    const check = checked(component, complete, sets, cluster, {
      isAfterOthers: comesAfter(opts),
      coming: Object.keys(installers) as Half[],
    });
    const settled = afterCheck(check, options, Object.values(installers));
    super("argosy:index:ArgoPlatform", name, {}, settled);
    claim(cluster, claimsOf(component, complete), this);
    const child = { parent: this };
    const keeping = { data: complete.data, cluster };
    const register = (role: string, set: ManifestSet, options: pulumi.CustomResourceOptions) =>
      registerSet(`${name}-${role}`, set, options);
    const keep = (role: string, set: ManifestSet) => registerDataSet(`${name}-${role}`, set, keeping, child);

    const namespaces = keep("namespace", sets.namespaces);
    const events = keep("argo-events-crd", sets.eventsDefinitions);
    const workflows = keep("argo-workflows-crd", sets.workflowsDefinitions);
    const here = after(child, namespaces);
    const argoEventsController = register("argo-events", sets.argoEventsController, after(here, events));
    const onWorkflows = after(here, workflows);
    const workflowController = register("argo-workflows", sets.workflowController, onWorkflows);
    const server = register("argo-server", sets.server, onWorkflows);
    const viewer = register("viewer", sets.viewer, here);
    const submitter = register("submitter", sets.submitter, here);
    register("monitoring", sets.monitoring, here);

    this.platform = platformOf(complete);
    this.namespace = namespaces.operators as k8s.core.v1.Namespace | undefined;
    this.controllerNamespace = namespaces.controllers as k8s.core.v1.Namespace | undefined;
    this.argoEventsController = argoEventsController.controller as k8s.apps.v1.Deployment | undefined;
    this.workflowController = workflowController.controller as k8s.apps.v1.Deployment | undefined;
    this.argoServer = server.service as k8s.core.v1.Service | undefined;
    this.viewer = viewer.account as k8s.core.v1.ServiceAccount | undefined;
    this.submitter = submitter.account as k8s.core.v1.ServiceAccount | undefined;
    leaveOutUndefined(this);
    this.registerOutputs({ platform: this.platform });
  }
}

type Sets = ReturnType<typeof buildSets>;

/** All manifests of a platform. */
function buildSets(args: CompletePlatformArgs) {
  const workflowController = buildWorkflowController(args);
  return {
    namespaces: ours(buildNamespaces(args)),
    eventsDefinitions: ours(buildArgoEventsDefinitions(args)),
    workflowsDefinitions: ours(buildArgoWorkflowsDefinitions(args)),
    argoEventsController: buildArgoEventsController(args),
    workflowController,
    server: buildArgoServer(args, workflowController.configuration as ConfigMap | undefined),
    viewer: buildViewer(args),
    submitter: buildSubmitter(args),
    monitoring: buildMonitoring(args),
  };
}

/** The key of a platform's claim to the namespace of its operators. */
export function platformKey(namespace: string): string {
  return `platform ${namespace}`;
}

/** The halves of Argo, by the arguments that say who installs them. */
const HALVES = ["argoEvents", "argoWorkflows"] as const;
type Half = (typeof HALVES)[number];

/** The key of a platform's claim to the CRDs of a half of Argo. */
function crdsKey(half: Half): string {
  return `crds ${half}`;
}

function claimsOf(component: string, args: CompletePlatformArgs): readonly Claim[] {
  const { namespace } = args;
  const { controllers } = namespacesOf(args);
  return [
    {
      key: platformKey(namespace),
      what: `the namespace "${namespace}" of a platform`,
      component,
      remedy:
        "Use that platform: give its field `platform` as the argument `platform`. Or choose other namespaces.",
    },
    ...(controllers && args.createNamespaces
      ? [
          {
            key: `namespace ${controllers}`,
            what: `the namespace "${controllers}" of controllers`,
            component,
            remedy: "Give one of the two another controllerNamespace, or set its createNamespaces to false.",
          },
        ]
      : []),
    ...HALVES.filter((half) => ownsController(args[half])).map((half) => ({
      key: `controllers of ${half} in ${controllers}`,
      what: `the controller of ${half} in the namespace "${controllers}"`,
      component,
      // The controllers and argo-server have fixed names.
      remedy: "Give one of the two another controllerNamespace.",
    })),
    ...HALVES.filter((half) => args[half] === "install").map((half) => ({
      key: crdsKey(half),
      what: `the installation of ${half}`,
      component,
      remedy: `Set ${half} to "share".`,
    })),
  ];
}

/** Objects that only one program in a cluster can create, marked with the name of that program. */
function ours(set: ManifestSet): ManifestSet {
  const program = thisProgram();
  return Object.fromEntries(Object.entries(set).map(([role, manifest]) => [role, madeBy(program, manifest)]));
}

/**
 * The earlier components of this program that install the halves of Argo that this platform shares or adopts. They are created before
 * it, and deleted after it: without the CRDs no controller could finalize anything.
 */
function installersFor(
  args: Pick<CompletePlatformArgs, Half>,
  cluster: Cluster,
): Partial<Record<Half, pulumi.Resource>> {
  const used = HALVES.filter((half) => args[half] === "share" || args[half] === "adopt");
  const found = used.map((half) => [half, claimant(cluster, crdsKey(half))] as const);
  return Object.fromEntries(found.filter(([, installer]) => installer !== undefined));
}

function checked(
  component: string,
  args: CompletePlatformArgs,
  sets: Sets,
  cluster: Cluster,
  { isAfterOthers, coming }: { readonly isAfterOthers: boolean; readonly coming: readonly Half[] },
): Promise<void> {
  const { archive, monitoring, ...others } = args;
  const namespaces = Object.values(sets.namespaces).map(({ metadata }) => metadata.name);
  const needed = args.createNamespaces || isAfterOthers ? [] : neededBy(args);
  return checkInCluster(component, cluster, (look, program) =>
    checkPlatform(look, {
      ...others,
      program,
      ...(args.data === "keep" && { has: isOfProgram }),
      namespaces,
      needed,
      // The resources in its `dependsOn` may install what it needs.
      coming: isAfterOthers ? HALVES : coming,
      ...(monitoring && !isAfterOthers && { monitoring }),
      ...(archive && !hasPlaceholders(archive.secret) && { archive }),
    }),
  );
}

/** The namespaces of a platform, with the arguments that name them. */
function neededBy(args: CompletePlatformArgs): NeededNamespace[] {
  const { controllers, operators } = namespacesOf(args);
  return [
    { namespace: operators, place: "namespace" },
    ...(controllers ? [{ namespace: controllers, place: "controllerNamespace" }] : []),
  ];
}
