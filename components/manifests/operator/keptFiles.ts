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
  /** What its accounts have rights on, in words. */
  readonly rights: readonly string[];
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
  const known = { schema: fingerprint(schemasOf(operator)), rights: rightsOf(operator) };
  const whole = JSON.stringify({ ...known, files } satisfies KeptFiles);
  return Buffer.byteLength(whole) <= MOST_BYTES ? whole : JSON.stringify(known satisfies KeptFiles);
}

/**
 * What such an annotation says.
 * @returns undefined if there is none, or if it was changed: the name of each ConfigMap follows from its content
 */
export function readKeptFiles(text: string | undefined): KeptFiles | undefined {
  try {
    const read: unknown = JSON.parse(text ?? "");
    if (!isRecord(read) || typeof read["schema"] !== "string" || !Array.isArray(read["rights"]))
      return undefined;
    const { schema, rights, files } = read as unknown as KeptFiles;
    const isWhole = ([name, { data, binaryData }]: [string, ConfigMapContent]) =>
      name.endsWith(`-${contentHash({ ...data, ...binaryData })}`);
    return Object.entries(files ?? {}).every(isWhole) ? { schema, rights, files } : undefined;
  } catch {
    return undefined;
  }
}

/** A namespace in the list has no rights of its own where all have them. */
export const EVERYWHERE = "in all namespaces";

function rightsOf({ children, uses, namespaces, rules, grants }: Operator): string[] {
  return [
    ...children.map(({ apiVersion, kind }) => `on ${apiVersion} ${kind}`),
    ...Object.values(uses).map(({ apiVersion, kind }) => `on used objects of ${apiVersion} ${kind}`),
    ...(namespaces === "all" ? [EVERYWHERE] : namespaces.map((name) => `in the namespace ${name}`)),
    ...[...rules, ...grants].map((rule) => `by the rule ${JSON.stringify(rule)}`),
  ];
}

function schemasOf({ crd }: Operator): unknown {
  const { versions = [] } = (crd["spec"] ?? {}) as { readonly versions?: readonly Record<string, unknown>[] };
  return versions.map(({ name, storage, schema }) => [name, storage, schema]);
}
