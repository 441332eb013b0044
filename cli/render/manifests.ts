import { inApplyOrder } from "../../runtime/children/applyOrder";
import { isRecord } from "../../runtime/json/json";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { compareTexts } from "../../runtime/text/compareTexts";
import { CommandError } from "../commandError";
import type { RegisteredResource } from "./runProgram";

/** Annotations that are only for Pulumi's provider. */
const FOR_PULUMI = /^pulumi\.com\//;
const OF_KUBERNETES = "kubernetes:";
/** Inputs of a provider that only say where its cluster is, and so do not change the objects. */
const PLACE: readonly string[] = ["kubeconfig", "context", "cluster", "clusterIdentifier", "version"];
/** How Pulumi marks a secret or an asset among resolved inputs (sdk/nodejs/runtime/rpc.ts, specialSigKey). */
const SIGNATURE_KEY = "4dabf18193072939515e22adb298388d";

/**
 * The manifests of a program's resources, in an order in which they can be applied.
 * @throws CommandError for a resource that `pulumi up` would create differently from its manifest
 */
export function manifestsOf(resources: readonly RegisteredResource[]): Manifest[] {
  const entries = resources
    .filter(({ custom, type }) => custom || type.startsWith(OF_KUBERNETES))
    .filter((resource) => !isOnlyAPlace(resource))
    .map(manifestOf)
    .filter(onceOnly())
    .sort((one, other) => compareTexts(objectNameOf(one), objectNameOf(other)))
    .map((manifest) => ({ manifest, resource: { kind: manifest.kind } }));
  return inApplyOrder(entries)
    .flat()
    .map(({ manifest }) => manifest);
}

/** Whether a resource is a provider that only says in which cluster objects are created. */
function isOnlyAPlace({ type, inputs }: RegisteredResource): boolean {
  return (
    type === "pulumi:providers:kubernetes" && Object.keys(inputs).every((input) => PLACE.includes(input))
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

function manifestOf({ type, name, inputs }: RegisteredResource): Manifest {
  if (!type.startsWith(OF_KUBERNETES)) {
    throw new CommandError(`${name} is a ${type}: only objects of Kubernetes can be rendered.`);
  }
  const { apiVersion, kind, metadata, ...rest } = inputs;
  // Charts have no kind, and neither have objects that are only read. A "kubernetes:core/v1:ConfigMapPatch" has another object's
  // kind.
  if (typeof apiVersion !== "string" || typeof kind !== "string" || !type.endsWith(`:${kind}`)) {
    throw new CommandError(`${name} is a ${type}, which is not an object: only objects can be rendered.`);
  }
  if (!isRecord(metadata) || typeof metadata.name !== "string") {
    throw new CommandError(
      `${name} has no metadata.name: Pulumi would generate a different name in every run.`,
    );
  }
  refuseSigned(inputs, name);
  const { namespace, ...further } = withoutPulumi(metadata);
  const identity = { name: metadata.name, ...(typeof namespace === "string" && { namespace }) };
  return { apiVersion, kind, metadata: { ...identity, ...further, name: metadata.name }, ...rest };
}

function withoutPulumi({ annotations, ...metadata }: Record<string, unknown>): Record<string, unknown> {
  if (!isRecord(annotations)) return metadata;
  const kept = Object.entries(annotations).filter(([key]) => !FOR_PULUMI.test(key));
  return kept.length > 0 ? { ...metadata, annotations: Object.fromEntries(kept) } : metadata;
}

function refuseSigned(value: unknown, name: string): void {
  if (Array.isArray(value)) {
    for (const each of value) refuseSigned(each, name);
  } else if (isRecord(value)) {
    if (SIGNATURE_KEY in value) {
      throw new CommandError(
        `${name} contains a secret of Pulumi, which a rendered file must not contain. Refer to a Secret of the cluster by ` +
          `name.`,
      );
    }
    for (const each of Object.values(value)) refuseSigned(each, name);
  }
}
