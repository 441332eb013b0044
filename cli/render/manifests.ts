import { isRecord } from "../../runtime/base/json";
import { PROGRAM_ANNOTATION } from "../../runtime/base/names";
import type { Manifest } from "../../runtime/base/objects";
import { compareTexts } from "../../runtime/base/text";
import { inApplyOrder } from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import type { RegisteredResource } from "./runProgram";

/** Annotations that are only for Pulumi's provider. */
const FOR_PULUMI = /^pulumi\.com\//;
const OF_KUBERNETES = "kubernetes:";
const PROVIDER = "pulumi:providers:";
/** How Pulumi marks a secret or an asset among resolved inputs (sdk/nodejs/runtime/rpc.ts, specialSigKey). */
const SIGNATURE_KEY = "4dabf18193072939515e22adb298388d";

/** What a program makes. */
export interface Made {
  /** Its manifests, in an order in which they can be applied. */
  readonly manifests: Manifest[];
  /** The resources of which there is no manifest, since only Pulumi knows what becomes of them: "name (type)", sorted. */
  readonly others: readonly string[];
}

/**
 * The manifests of a program's resources.
 * @throws CommandError for an object of Argosy's components that `pulumi up` would create differently from its manifest, for a second
 *   manifest of one object, and for a provider that changes what is made
 */
export function readResources(resources: readonly RegisteredResource[]): Made {
  const manifests: Manifest[] = [];
  const others: string[] = [];
  for (const resource of resources.filter(({ custom, type }) => custom || type.startsWith(OF_KUBERNETES))) {
    const { name, type, inputs } = resource;
    if (type.startsWith(PROVIDER)) {
      refuseNamespace(resource);
      continue;
    }
    const reason = reasonAgainst(resource);
    if (reason === undefined) manifests.push(manifestOf(resource));
    else if (isOurs(inputs)) throw new CommandError(`${name} ${reason}`);
    else others.push(`${name} (${type})`);
  }
  const entries = manifests
    .filter(onceOnly())
    .sort((one, other) => compareTexts(objectNameOf(one), objectNameOf(other)))
    .map((manifest) => ({ manifest, resource: { kind: manifest.kind } }));
  const ordered = inApplyOrder(entries).flat();
  return { manifests: ordered.map(({ manifest }) => manifest), others: others.sort(compareTexts) };
}

/** The manifests of {@link readResources}. */
export function manifestsOf(resources: readonly RegisteredResource[]): Manifest[] {
  return readResources(resources).manifests;
}

/** A provider with a namespace puts objects without one there. */
function refuseNamespace({ type, name, inputs }: RegisteredResource): void {
  if (type !== `${PROVIDER}kubernetes` || inputs.namespace === undefined) return;
  throw new CommandError(
    `the provider ${name} has a namespace, which it gives to objects without one. Give the objects their namespace instead.`,
  );
}

/** Whether an object is one of Argosy's components. */
function isOurs({ metadata }: RegisteredResource["inputs"]): boolean {
  if (!isRecord(metadata)) return false;
  const { labels, annotations } = metadata;
  return (
    (isRecord(labels) && labels["app.kubernetes.io/managed-by"] === "argosy") ||
    (isRecord(annotations) && annotations[PROGRAM_ANNOTATION] !== undefined)
  );
}

/** "apps/Deployment argosy/memcached-runner": the same for each object in every version. */
function objectNameOf({ apiVersion, kind, metadata }: Manifest): string {
  const [group] = apiVersion.split("/");
  return `${group}/${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
}

/** Refuses a second manifest of one object: in a cluster the later one would win. */
function onceOnly(): (manifest: Manifest) => boolean {
  const seen = new Set<string>();
  return (manifest) => {
    const name = objectNameOf(manifest);
    if (seen.has(name)) throw new CommandError(`${name} is registered twice. Give one of them another name.`);
    seen.add(name);
    return true;
  };
}

/** Why there is no manifest of a resource that `pulumi up` would create from it. */
function reasonAgainst({ type, inputs }: RegisteredResource): string | undefined {
  const { apiVersion, kind, metadata } = inputs;
  // Charts have no kind, and neither have objects that are only read. A "kubernetes:core/v1:ConfigMapPatch" has another object's
  // kind, unless it is an object of Argosy's that is kept.
  const types = [`:${kind}`, ...(isOurs(inputs) ? [`:${kind}Patch`] : [])];
  const isObject = type.startsWith(OF_KUBERNETES) && types.some((end) => type.endsWith(end));
  if (!isObject || typeof apiVersion !== "string" || typeof kind !== "string") {
    return `is a ${type}: only objects of Kubernetes can be rendered.`;
  }
  if (!isRecord(metadata) || typeof metadata.name !== "string") {
    return "has no metadata.name that is known before pulumi up.";
  }
  if (contains(inputs, isUnknown)) {
    return "contains a value that another resource has only after pulumi up. Use pulumi preview.";
  }
  if (contains(inputs, (value) => isRecord(value) && SIGNATURE_KEY in value)) {
    return "contains a secret of Pulumi, which a rendered file must not contain. Refer to a Secret of the cluster by name.";
  }
  return undefined;
}

/** A value that the engine would know only after `pulumi up` (sdk/nodejs/output.ts, Unknown). */
function isUnknown(value: unknown): boolean {
  return isRecord(value) && value.__pulumiUnknown === true;
}

/** The manifest of a resource that has one: see {@link reasonAgainst}. */
function manifestOf({ inputs }: RegisteredResource): Manifest {
  const { apiVersion, kind, metadata, ...rest } = inputs as unknown as Manifest;
  const { name, namespace, ...further } = withoutPulumi(metadata);
  const identity = { name: name as string, ...(typeof namespace === "string" && { namespace }) };
  return { apiVersion, kind, metadata: { ...identity, ...further }, ...rest };
}

function withoutPulumi({ annotations, ...metadata }: Manifest["metadata"]): Record<string, unknown> {
  if (!isRecord(annotations)) return metadata;
  const kept = Object.entries(annotations).filter(([key]) => !FOR_PULUMI.test(key));
  return kept.length > 0 ? { ...metadata, annotations: Object.fromEntries(kept) } : metadata;
}

/** Whether a value or anything in it is such. */
function contains(value: unknown, isSuch: (value: unknown) => boolean): boolean {
  if (isSuch(value)) return true;
  return (
    typeof value === "object" && value !== null && Object.values(value).some((each) => contains(each, isSuch))
  );
}
