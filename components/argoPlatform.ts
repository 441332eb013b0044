import * as pulumi from "@pulumi/pulumi";
import { refuse } from "./configuration/configurationError";
import { buildMonitoring } from "./manifests/monitoring/monitoring";
import { buildArgoEventsController } from "./manifests/platform/argoEvents";
import { buildArgoServer } from "./manifests/platform/argoServer";
import { buildArgoEventsDefinitions, buildArgoWorkflowsDefinitions } from "./manifests/platform/definitions";
import { buildNamespaces } from "./manifests/platform/namespaces";
import type { Platform, PlatformOptions } from "./manifests/platform/options";
import { buildSubmitter, buildViewer } from "./manifests/platform/users";
import { buildWorkflowController } from "./manifests/platform/workflowController";
import { checkWorkloadOptions } from "./manifests/workloads";
import { warnOfSdk } from "./package";
import { after, registerSet } from "./register";

/** What an {@link ArgoPlatform} is made from. */
export interface ArgoPlatformArgs extends PlatformOptions {
  /** The event bus's version: one that the events controller's configuration has. */
  readonly jetStreamVersion: string;
  /** Whether Pulumi refuses to delete namespaces and CRDs. @default false */
  readonly protect?: boolean;
}

/**
 * What operators stand on: Argo Events, Argo Workflows and argo-server as single objects, so that preview, tests and
 * review see every one of them, with rights in one namespace only.
 *
 * @example
 * ```ts
 * const { platform } = new ArgoPlatform("argosy", {
 *   namespace: "argosy",
 *   controllerNamespace: "argosy-system",
 *   createNamespaces: true,
 *   instanceId: "argosy",
 *   argoEvents: "install",
 *   argoWorkflows: "share",
 *   jetStreamVersion: JETSTREAM_VERSION,
 *   placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
 * });
 * ```
 */
export class ArgoPlatform extends pulumi.ComponentResource {
  /** What operators need to know of it; as the output `platform` of a stack, for the stacks of others. */
  readonly platform: Platform;

  constructor(name: string, args: ArgoPlatformArgs, opts?: pulumi.ComponentResourceOptions) {
    refuse(checkWorkloadOptions(args));
    super("argosy:index:ArgoPlatform", `${name}-platform`, {}, opts);
    warnOfSdk();
    const child = { parent: this };
    const guarded = { ...child, protect: args.protect ?? false };

    const namespaces = registerSet("namespace", buildNamespaces(args), guarded);
    const events = registerSet("argo-events-crd", buildArgoEventsDefinitions(args), guarded);
    const workflows = registerSet("argo-workflows-crd", buildArgoWorkflowsDefinitions(args), guarded);
    registerSet("argo-events", buildArgoEventsController(args), after(child, [...namespaces, ...events]));
    registerSet("argo-workflows", buildWorkflowController(args), after(child, [...namespaces, ...workflows]));
    registerSet("argo-server", buildArgoServer(args), after(child, [...namespaces, ...workflows]));
    registerSet("argosy-viewer", buildViewer(args), after(child, namespaces));
    registerSet("argosy-submitter", buildSubmitter(args), after(child, namespaces));
    registerSet("argosy", buildMonitoring(args), after(child, namespaces));

    this.platform = platformOf(args);
    this.registerOutputs({ platform: this.platform });
  }
}

/** What operators need to know of a platform that is made from these. */
export function platformOf(args: ArgoPlatformArgs): Platform {
  const { namespace, instanceId, jetStreamVersion, archive } = args;
  return { namespace, instanceId, jetStreamVersion, ...(archive && { archivesRuns: true }) };
}
