import assert from "node:assert/strict";
import fc from "fast-check";
import type { ConfigMap } from "../../../components/manifests/kinds";
import type { ManifestSet } from "../../../components/manifests/metadata";
import {
  buildArgoEventsController,
  JETSTREAM_VERSION,
} from "../../../components/manifests/platform/argoEvents";
import { buildArgoServer } from "../../../components/manifests/platform/argoServer";
import {
  buildArgoEventsDefinitions,
  buildArgoWorkflowsDefinitions,
} from "../../../components/manifests/platform/definitions";
import { buildNamespaces } from "../../../components/manifests/platform/namespaces";
import {
  ARGO_MODES,
  type Platform,
  type PlatformOptions,
} from "../../../components/manifests/platform/options";
import { buildSubmitter, buildViewer } from "../../../components/manifests/platform/users";
import { buildWorkflowController } from "../../../components/manifests/platform/workflowController";
import type { PodPlacement } from "../../../components/manifests/pods";
import { ARGOSY_VERSION } from "../../../components/package";
import type { Manifest } from "../../../runtime/base/objects";

/** A platform of which only what a test is about differs from the defaults. */
export function platformOptions(options: Partial<PlatformOptions> = {}): PlatformOptions {
  return {
    namespace: "argosy",
    controllerNamespace: "argosy-system",
    createNamespaces: true,
    instanceId: "argosy",
    argoEvents: "install",
    argoWorkflows: "install",
    placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
    ...options,
  };
}

/** What operators are told of a platform of which only what a test is about differs from the defaults. */
export function samplePlatform(platform: Partial<Platform> = {}): Platform {
  return {
    argosyVersion: ARGOSY_VERSION,
    namespace: "argosy",
    argoEvents: true,
    jetStreamVersion: JETSTREAM_VERSION,
    argoWorkflows: true,
    instanceId: "argosy",
    ...platform,
  };
}

const name = fc
  .stringMatching(/^[a-z]([-a-z0-9]{0,20}[a-z0-9])?$/)
  .filter((each) => each !== "default" && !each.startsWith("kube-"));
const mode = fc.constantFrom(...ARGO_MODES);
const toleration = fc.record({ key: name, operator: fc.constant("Exists" as const) });
const placement: fc.Arbitrary<PodPlacement> = fc
  .record({
    registry: fc.option(
      name.map((host) => `${host}.example.com/hub`),
      { nil: undefined },
    ),
    imagePullSecrets: fc.array(name, { maxLength: 2 }),
    nodeSelector: fc.dictionary(name, name, { maxKeys: 2, noNullPrototype: true }),
    tolerations: fc.array(toleration, { maxLength: 2 }),
  })
  .map(({ registry, ...others }) => ({ ...others, ...(registry !== undefined && { registry }) }));

/** Any platform whose options are right. */
export const anyPlatformOptions: fc.Arbitrary<PlatformOptions> = fc
  .record({
    namespace: name,
    controllerNamespace: name,
    createNamespaces: fc.boolean(),
    instanceId: fc.oneof(fc.constant(""), fc.constantFrom("yes", "1e3", "null", "argosy")),
    argoEvents: mode,
    argoWorkflows: mode,
    placement,
  })
  .filter(({ namespace, controllerNamespace }) => namespace !== controllerNamespace);

/** The argo-server of a platform. */
export function serverOf(options: PlatformOptions): ManifestSet {
  return buildArgoServer(options, buildWorkflowController(options).configuration as ConfigMap | undefined);
}

/** Every set of a platform, by what it is for. */
export function everySet(options: PlatformOptions): Record<string, ManifestSet> {
  return {
    namespaces: buildNamespaces(options),
    eventsDefinitions: buildArgoEventsDefinitions(options),
    workflowsDefinitions: buildArgoWorkflowsDefinitions(options),
    argoEventsController: buildArgoEventsController(options),
    workflowController: buildWorkflowController(options),
    server: serverOf(options),
    viewer: buildViewer(options),
    submitter: buildSubmitter(options),
  };
}

/** Every manifest of a platform. */
export function everyManifest(options: PlatformOptions): Manifest[] {
  return Object.values(everySet(options)).flatMap((set) => Object.values(set));
}

/** The Deployments of a platform: events controller, Workflow controller, argo-server. */
export function deploymentsOf(options: PlatformOptions): Manifest[] {
  return everyManifest(options).filter(({ kind }) => kind === "Deployment");
}

/** What the tests read of a pod. */
export interface Pod {
  readonly serviceAccountName: string;
  readonly securityContext: { readonly runAsNonRoot?: boolean; readonly seccompProfile?: object };
  readonly imagePullSecrets?: readonly object[];
  readonly nodeSelector?: object;
  readonly tolerations?: readonly object[];
  readonly volumes?: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
  readonly containers: readonly {
    readonly image: string;
    readonly args: readonly string[];
    readonly env?: readonly { readonly name: string; readonly value: string }[];
    readonly securityContext: object;
    readonly resources: {
      readonly requests: Record<string, string>;
      readonly limits: Record<string, string>;
    };
    readonly volumeMounts?: readonly { readonly name: string }[];
  }[];
}

/** The pod of a Deployment. */
export function podOf({ spec }: Manifest): Pod {
  const { template } = spec as { template: { spec: Pod } };
  assert.ok(template.spec.containers.length > 0);
  return template.spec;
}
