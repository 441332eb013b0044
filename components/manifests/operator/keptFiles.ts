import { DOMAIN, fingerprint, isRecord, type Operator } from "../../../runtime/program";
import { type ConfigMapContent, contentHash } from "../configMaps";
import type { OperatorFiles } from "./configMaps";

/** On the runner's pod, with a staged roll-out: the files of this version, for `argosy rollout undo`. */
export const FILES_ANNOTATION = `${DOMAIN}/files`;
/** An object has room for 256 KiB of annotations, and the program's own are among them. In bytes. */
const MOST_BYTES = 128 * 1024;

/** The files of one version of an operator. */
export interface KeptFiles {
  /** A fingerprint of the schemas of the operator's CRD. */
  readonly schema: string;
  /** The ConfigMaps, by their names. Undefined if they are too large. */
  readonly files?: Readonly<Record<string, ConfigMapContent>> | undefined;
}

/**
 * The files of a version as an annotation of the runner's pod. Pulumi deletes the ConfigMaps of a version when the next one runs. The
 * Deployment keeps its former ReplicaSets with this annotation, and removes them by itself. So nothing is left behind.
 */
export function keptFiles(operator: Operator, { definition, handler }: OperatorFiles): string {
  const maps = [definition, ...handler.map(({ manifest }) => manifest)];
  const files = Object.fromEntries(
    maps.map(({ metadata, data = {}, binaryData }) => [
      metadata.name,
      { data, ...(binaryData && { binaryData }) },
    ]),
  );
  const schema = fingerprint(schemasOf(operator));
  const whole = JSON.stringify({ schema, files } satisfies KeptFiles);
  return Buffer.byteLength(whole) <= MOST_BYTES ? whole : JSON.stringify({ schema } satisfies KeptFiles);
}

/**
 * What such an annotation says.
 * @returns undefined if there is none, or if somebody has changed it: the name of each ConfigMap follows from its content
 */
export function readKeptFiles(text: string | undefined): KeptFiles | undefined {
  try {
    const read: unknown = JSON.parse(text ?? "");
    if (!isRecord(read) || typeof read["schema"] !== "string") return undefined;
    const { schema, files } = read as unknown as KeptFiles;
    const isWhole = ([name, { data, binaryData }]: [string, ConfigMapContent]) =>
      name.endsWith(`-${contentHash({ ...data, ...binaryData })}`);
    return Object.entries(files ?? {}).every(isWhole) ? { schema, files } : undefined;
  } catch {
    return undefined;
  }
}

function schemasOf({ crd }: Operator): unknown {
  const { versions = [] } = (crd["spec"] ?? {}) as { readonly versions?: readonly Record<string, unknown>[] };
  return versions.map(({ name, storage, schema }) => [name, storage, schema]);
}
