// What a program may change in a manifest.
import { isDeepStrictEqual } from "node:util";
import { isRecord, type Manifest } from "../../runtime/program";
import type { ConfigMap, Deployment, Namespace, NetworkPolicy, PodDisruptionBudget, Service } from "./kinds";

/** A manifest of a kind for which there are no types here: one of Argo's or of the Prometheus Operator's, or a CRD. */
export interface UntypedManifest extends Manifest {
  // biome-ignore lint/suspicious/noExplicitAny: a transform knows what it changes, and no type can help it
  [field: string]: any;
}

/** The manifests that a program may change. */
export interface TransformedManifests {
  readonly namespace: Namespace;
  readonly argoEventsController: Deployment;
  readonly workflowController: Deployment;
  /** The configuration of Workflow controller and argo-server. */
  readonly workflowConfiguration: ConfigMap;
  readonly argoServer: Deployment;
  readonly argoServerService: Service;
  readonly podMonitor: UntypedManifest;
  readonly alertRules: UntypedManifest;
  readonly dashboard: ConfigMap;
  readonly eventBus: UntypedManifest;
  readonly eventSource: UntypedManifest;
  readonly sensor: UntypedManifest;
  readonly keeper: Deployment;
  /** The event bus, the event sources and the sensor of events from outside. */
  readonly outsideEventBus: UntypedManifest;
  readonly outsideEventSource: UntypedManifest;
  readonly outsideSensor: UntypedManifest;
  /** The intake, which creates custom resources from these events. */
  readonly intake: Deployment;
  readonly intakeNetworkPolicy: NetworkPolicy;
  /** The runner of each operator. */
  readonly runner: Deployment;
  readonly runnerService: Service;
  readonly runnerNetworkPolicy: NetworkPolicy;
  readonly runnerDisruptionBudget: PodDisruptionBudget;
  /** The template of the runs of each operator. */
  readonly workflowTemplate: UntypedManifest;
  /** The ValidatingAdmissionPolicy of each guard of an operator. */
  readonly guard: UntypedManifest;
  /** The binding that puts the policy into force. */
  readonly guardBinding: UntypedManifest;
  /** The CRD of each operator. */
  readonly crd: UntypedManifest;
}

/** The same manifest, to be changed in place. */
export type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends object
    ? { -readonly [Field in keyof T]: Mutable<T[Field]> }
    : T;

/**
 * Functions that change manifests before they are registered, by part. A transform is called once for each manifest of its part.
 * It changes the copy that it is given, or returns another manifest of plain data. It must not change the names, labels and
 * selectors by which other objects find the manifest, and must not remove fields that Argosy needs.
 *
 * A transform sees no value of an Output. If an option was given an Output, its manifests contain the placeholder
 * `argosy-known-later-N-x` instead of the text, and Pulumi replaces the placeholder afterwards. A transform may move the
 * placeholder, but must not read or change it. A transform must not return an Output either. Give Outputs to the options that
 * accept them, such as `placement` and `pods`: their types have `pulumi.Input`. `images` and `overrides` must be plain values.
 *
 * @example
 * ```ts
 * const transform: Transforms = {
 *   runner: (deployment) => {
 *     deployment.spec.template.spec.dnsPolicy = "Default";
 *   },
 * };
 * ```
 */
export type Transforms = {
  readonly [Part in keyof TransformedManifests]?: (
    manifest: Mutable<TransformedManifests[Part]>,
    // biome-ignore lint/suspicious/noConfusingVoidType: a function without a return is what most of them are
  ) => TransformedManifests[Part] | void;
};

/** The changes that a program makes to Argosy's manifests. */
export interface TransformOptions {
  /** Functions that change single manifests before they are registered, by the part that they belong to. @default no changes */
  readonly transform?: Transforms;
}

/** A transform failed, or made a change that is not allowed. */
export class TransformError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "TransformError";
  }
}

/** The fields of a part's manifest that Argosy needs, by their paths. */
interface Relied {
  /** These values stay the same. */
  readonly same: readonly string[];
  /** The values in these fields stay. More values may be added. */
  readonly kept: readonly string[];
  /** Fields that may be changed anywhere within the kept fields. @default none */
  readonly free?: readonly string[];
}

/** Fields of pods and their containers. Elsewhere these words mean something else: a CRD may have a field `image`. */
const FREE: readonly string[] = [
  "image",
  "imagePullPolicy",
  "resources",
  "securityContext",
  "startupProbe",
  "readinessProbe",
  "livenessProbe",
  "podSpecPatch",
  "pendingTimeout",
];

const POD: Relied = {
  same: ["spec.selector", "spec.template.spec.serviceAccountName"],
  kept: [
    "spec.template.metadata",
    "spec.template.spec.initContainers",
    "spec.template.spec.containers",
    "spec.template.spec.volumes",
  ],
  free: FREE,
};
/** Two of these pods at the same time would do everything twice. */
const ONE_POD: Relied = { ...POD, same: [...POD.same, "spec.replicas", "spec.strategy"] };
const EVENT_PATH = ["spec.template.serviceAccountName", "spec.eventBusName", "spec.replicas"];
const BUS: Relied = {
  same: ["spec.jetstream.version", "spec.jetstream.serviceAccountName", "spec.jetstream.maxPayload"],
  kept: ["spec.jetstream.metadata"],
};
const RUNS: Relied = {
  same: ["spec.entrypoint", "spec.serviceAccountName", "spec.synchronization"],
  kept: ["spec.arguments", "spec.workflowMetadata", "spec.podMetadata", "spec.templates"],
  free: FREE,
};
const NOTHING: Relied = { same: [], kept: [] };

const RELIED: Readonly<Record<keyof TransformedManifests, Relied>> = {
  namespace: NOTHING,
  argoEventsController: ONE_POD,
  workflowController: ONE_POD,
  workflowConfiguration: {
    same: [
      "data.instanceID",
      "data.workflowRestrictions",
      "data.disableAgentPodCreation",
      "data.persistence",
    ],
    kept: [],
  },
  argoServer: POD,
  argoServerService: { same: ["spec.selector"], kept: ["spec.ports"] },
  podMonitor: NOTHING,
  alertRules: NOTHING,
  dashboard: NOTHING,
  eventBus: BUS,
  eventSource: { same: [...EVENT_PATH, "spec.resource"], kept: ["spec.template.metadata"] },
  sensor: { same: [...EVENT_PATH, "spec.dependencies"], kept: ["spec.template.metadata", "spec.triggers"] },
  keeper: ONE_POD,
  outsideEventBus: {
    ...BUS,
    same: [...BUS.same, "spec.jetstream.persistence", "spec.jetstream.streamConfig"],
  },
  outsideEventSource: { same: EVENT_PATH, kept: ["spec.template.metadata"] },
  outsideSensor: {
    same: [...EVENT_PATH, "spec.dependencies"],
    kept: ["spec.template.metadata", "spec.triggers"],
  },
  intake: POD,
  intakeNetworkPolicy: { same: ["spec.podSelector"], kept: ["spec.policyTypes", "spec.ingress"] },
  runner: POD,
  runnerService: { same: ["spec.selector"], kept: ["spec.ports"] },
  runnerNetworkPolicy: { same: ["spec.podSelector"], kept: ["spec.policyTypes", "spec.ingress"] },
  runnerDisruptionBudget: { same: ["spec.selector"], kept: [] },
  workflowTemplate: RUNS,
  guard: { same: [], kept: ["spec.matchConstraints", "spec.matchConditions", "spec.validations"] },
  guardBinding: { same: ["spec.policyName"], kept: [] },
  crd: { same: [], kept: ["spec"] },
};

/** The parts that have a transform. */
export const TRANSFORM_PARTS = Object.keys(RELIED) as readonly (keyof TransformedManifests)[];

/**
 * A part's manifest as the program wants it.
 * @throws TransformError that names the part, the object and the field
 */
export function transformed<Part extends keyof TransformedManifests>(
  part: Part,
  manifest: TransformedManifests[Part],
  { transform = {} }: TransformOptions,
): TransformedManifests[Part] {
  const change = transform[part];
  if (!change) return manifest;
  const { kind, metadata } = manifest as Manifest;
  const refuse = (complaint: string, remedy: string, cause?: unknown) => {
    const what = `transform.${part} of the ${kind} ${metadata.name}`;
    return new TransformError(`${what} ${complaint}. ${remedy}`, cause === undefined ? {} : { cause });
  };
  // An object that is in two places, such as labels that a selector has too, is two objects in the copy.
  const copy = JSON.parse(JSON.stringify(manifest)) as Mutable<TransformedManifests[Part]>;
  let returned: unknown;
  try {
    returned = change(copy);
  } catch (error) {
    throw refuse(`failed: ${(error as Error)?.message ?? String(error)}`, "Correct the function.", error);
  }
  const result = returned === undefined ? copy : returned;
  if (!isRecord(result) || result instanceof Promise) {
    throw refuse(
      `returned ${result instanceof Promise ? "a promise" : JSON.stringify(result)}`,
      "Return the manifest, or change the one that is given and return nothing.",
    );
  }
  const foreign = foreignIn(result, "");
  if (foreign !== undefined) {
    throw refuse(
      foreign === ""
        ? "returns a value that is not plain data"
        : `puts a value that is not plain data into ${foreign}`,
      "Give text, numbers, lists and objects: no Output and no function. An option takes an Output in its place.",
    );
  }
  // Without fields that are undefined: to set one so is to remove it.
  const changed = JSON.parse(JSON.stringify(result)) as Manifest;
  const broken = brokenIn(manifest as Manifest, changed, RELIED[part]);
  if (broken !== undefined) {
    throw refuse(`changes ${broken}, which Argosy or another object relies on`, "Do not change this field.");
  }
  return changed as unknown as TransformedManifests[Part];
}

/** The first field that is no longer what something relies on. */
function brokenIn(before: Manifest, after: Manifest, { same, kept, free = [] }: Relied): string | undefined {
  const identity = ["apiVersion", "kind", "metadata.name", "metadata.namespace"];
  const changed = [...identity, ...same].find(
    (path) => !isDeepStrictEqual(at(before, path), at(after, path)),
  );
  if (changed !== undefined) return changed;
  for (const path of ["metadata.labels", "metadata.annotations", ...kept]) {
    const missing = missingIn(at(before, path), at(after, path), path, free);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

/** The path of what a value no longer has. */
function missingIn(
  before: unknown,
  after: unknown,
  path: string,
  free: readonly string[],
): string | undefined {
  if (before === undefined) return undefined;
  if (Array.isArray(before)) return missingItem(before, after, path, free);
  if (!isRecord(before)) return isDeepStrictEqual(before, after) ? undefined : path;
  if (!isRecord(after)) return path;
  for (const [field, value] of Object.entries(before)) {
    if (free.includes(field)) continue;
    const missing = missingIn(value, after[field], `${path}.${field}`, free);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

function missingItem(
  before: readonly unknown[],
  after: unknown,
  path: string,
  free: readonly string[],
): string | undefined {
  // A command depends on the order of its words.
  if (!Array.isArray(after) || /\.(command|args)$/.test(path))
    return isDeepStrictEqual(before, after) ? undefined : path;
  for (const item of before) {
    if (after.some((other) => missingIn(item, other, "", free) === undefined)) continue;
    const name = isRecord(item) && typeof item.name === "string" ? item.name : undefined;
    const namesake = after.find((other) => isRecord(other) && other.name === name && name !== undefined);
    const place = `${path}[${name ?? ""}]`;
    return namesake === undefined ? place : missingIn(item, namesake, place, free);
  }
  return undefined;
}

/** The path of something that is no plain data. */
function foreignIn(value: unknown, path: string): string | undefined {
  if (value === null || ["string", "number", "boolean", "undefined"].includes(typeof value)) return undefined;
  const prototype = typeof value === "object" ? Object.getPrototypeOf(value) : undefined;
  if (![Object.prototype, Array.prototype, null].includes(prototype)) return path;
  for (const [field, each] of Object.entries(value as object)) {
    const foreign = foreignIn(each, path === "" ? field : `${path}.${field}`);
    if (foreign !== undefined) return foreign;
  }
  return undefined;
}

function at(value: unknown, path: string): unknown {
  return path.split(".").reduce((each: unknown, field) => (isRecord(each) ? each[field] : undefined), value);
}
