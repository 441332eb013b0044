import { isDeepStrictEqual } from "node:util";
import {
  EVERYWHERE,
  FILES_ANNOTATION,
  type KeptFiles,
  readKeptFiles,
} from "../../components/manifests/operator/keptFiles";
import { isRecord } from "../../runtime/base/json";
import type { Json, KubernetesObject, Manifest } from "../../runtime/base/objects";
import { programFingerprint, type RolloutState } from "../../runtime/cli";
import { CommandError } from "../common/commandError";

/** The lasting way back, and the only one if a version is not in the cluster any more. */
export const LASTING_WAY = "Go back with git revert and pulumi up.";
/** The label of a ReplicaSet's pods by which a resident runner knows its version. */
const HASH_LABEL = "pod-template-hash";

/** A pod's template, as a Deployment and its ReplicaSets have it. */
type PodTemplate = { readonly metadata?: Pick<KubernetesObject["metadata"], "labels" | "annotations"> };

/** What is known of the versions of an operator in a cluster. */
export interface Versions {
  readonly state: RolloutState;
  readonly deployment: KubernetesObject;
  /** Those of the Deployment. */
  readonly replicaSets: readonly KubernetesObject[];
  /** The WorkflowTemplate of an operator with `execution: pod`. Undefined for any other. */
  readonly workflowTemplate?: KubernetesObject | undefined;
}

/** What brings the last version back whose roll-out came to its end. */
export interface Undo {
  /** The former files, under names of their own: a later `pulumi up` with the former program creates the others. */
  readonly configMaps: readonly Manifest[];
  /** The names of the other ConfigMaps that must exist: that of the engine. */
  readonly needed: readonly string[];
  /** The new template of the Deployment's pods. */
  readonly template: Json;
  /** The new `spec` of the WorkflowTemplate. */
  readonly workflowSpec?: Json;
}

/**
 * Says how the last version comes back whose roll-out came to its end. Pure.
 * @throws CommandError if it cannot
 */
export function undoOf(versions: Versions): Undo {
  const { state, deployment, workflowTemplate } = versions;
  if (state.former === undefined) throw refused("no roll-out of an earlier version came to its end here");
  const now = readKeptFiles(annotationOf(templateOf(deployment)));
  const former = formerOf(versions, now);
  if (!former) throw refused("the Deployment no longer has the former version, or it had other images");
  const [replicaSet, kept] = former;
  const { files } = kept;
  if (!files) throw refused("the former version's files are too large for the Deployment to keep them");
  if (now?.schema !== kept.schema) throw refused("the schema of the CRD has changed since");
  const isLeft = (right: string) =>
    now.rights.includes(right) || (now.rights.includes(EVERYWHERE) && right.startsWith("in "));
  const lost = kept.rights.find((right) => !isLeft(right));
  if (lost) throw refused(`the operator's accounts have no rights ${lost} any more`);
  const names = new Map(Object.keys(files).map((name) => [name, `${name}-undo`]));
  const { apiVersion, kind, metadata } = deployment;
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid };
  const template = renamed(withoutHash(templateOf(replicaSet)), names) as Json;
  // A second permission to delete children would be left for another version.
  if (isDeepStrictEqual(template, templateOf(deployment)))
    throw refused("the former version is back already");
  return {
    configMaps: Object.entries(files).map(([name, content]) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: `${name}-undo`,
        ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
        // They go with the operator.
        ownerReferences: [owner],
      },
      immutable: true,
      ...content,
    })),
    needed: configMapsIn(templateOf(replicaSet)).filter((name) => !names.has(name)),
    template,
    ...(workflowTemplate && {
      workflowSpec: renamed(swapped(workflowTemplate["spec"], now, kept), names) as Json,
    }),
  };
}

/** The ReplicaSet of the former version, and its files. */
function formerOf(
  { state, replicaSets, workflowTemplate }: Versions,
  now: KeptFiles | undefined,
): readonly [KubernetesObject, KeptFiles] | undefined {
  for (const replicaSet of replicaSets) {
    const template = templateOf(replicaSet);
    const kept = readKeptFiles(annotationOf(template));
    if (!kept) continue;
    // Runs in pods know their version by all that their template runs. So this also says that the rest is as it was.
    const program = workflowTemplate
      ? programFingerprint(swapped(workflowTemplate["spec"], now, kept))
      : template.metadata?.labels?.[HASH_LABEL];
    if (program === state.former) return [replicaSet, kept];
  }
  return undefined;
}

/** A template of runs with the files of another version. */
function swapped(spec: unknown, now: KeptFiles | undefined, other: KeptFiles): unknown {
  const [names, others] = [now, other].map((kept) => Object.keys(kept?.files ?? {}).sort());
  return renamed(spec, new Map((names ?? []).map((name, index) => [name, others?.[index] ?? name])));
}

/** The same value with other names wherever a ConfigMap is named. */
function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((each) => renamed(each, names));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (key !== "configMap" || !isRecord(inner)) return [key, renamed(inner, names)];
      return [key, { ...inner, name: names.get(String(inner["name"])) ?? inner["name"] }];
    }),
  );
}

/** The names of all ConfigMaps in a value. */
function configMapsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(configMapsIn);
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "configMap" && isRecord(inner) ? [String(inner["name"])] : configMapsIn(inner),
  );
}

function templateOf(object: KubernetesObject): PodTemplate {
  return ((object["spec"] as { template?: PodTemplate } | undefined)?.template ?? {}) as PodTemplate;
}

function annotationOf({ metadata }: PodTemplate): string | undefined {
  return metadata?.annotations?.[FILES_ANNOTATION];
}

function withoutHash(template: PodTemplate): PodTemplate {
  const { [HASH_LABEL]: _, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

function refused(why: string): CommandError {
  return new CommandError(`The roll-out cannot be undone, because ${why}. ${LASTING_WAY}`);
}
