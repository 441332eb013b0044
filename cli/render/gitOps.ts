// What Argo CD and Flux must know of rendered files.
import { OPERATOR_LABEL } from "../../runtime/base/names";
import { groupOf, isJsonObject, type Json, type Manifest } from "../../runtime/base/objects";

/** On an object: Argo CD creates it when all objects of lower waves are healthy, and deletes it before any of them. @default 0 */
const WAVE = "argocd.argoproj.io/sync-wave";
/** On an object: a list of options of Argo CD for this object alone. */
const OPTIONS = "argocd.argoproj.io/sync-options";
/** On an object: "disabled" if Flux does not delete it. */
const PRUNE = "kustomize.toolkit.fluxcd.io/prune";

/**
 * The waves, in the order of the components: what is created later is deleted earlier. If everything had one wave, Argo CD would delete a
 * runner together with the objects that only this runner can finalize, and a controller of Argo together with the event bus that
 * only this controller can finalize (argo-cd, controller/sort_delete.go; for pruned objects gitops-engine/pkg/sync/sync_context.go,
 * getSyncTasks). A CRD is created in its wave, but Argo CD never deletes one: it does not track CRDs
 * (reposerver/repository/repository.go; controller/appcontroller.go, shouldBeDeleted).
 */
const WAVES = { platform: 0, operators: 1, kinds: 2, objects: 3 } as const;

/**
 * Manifests with the annotations by which Argo CD and Flux treat them as Pulumi does:
 *
 * - The waves of the components: first the platform, then event path and operators, then the operators' CRDs, then their objects.
 * - An immutable ConfigMap, whose name changes with its content, is pruned by Argo CD when all else is healthy: pods of the last roll-out
 *   still need it. Flux has nothing like that, and no order.
 * - What is kept or protected is never deleted: CRDs and namespaces, unless `data` is "delete".
 *
 * An annotation of these names that a manifest has already stays as it is.
 *
 * @param manifests all of a program: their CRDs tell which objects are of the operators' kinds
 * @param isKept whether Pulumi would keep or protect an object
 */
export function forGitOps(
  manifests: readonly Manifest[],
  isKept: (manifest: Manifest) => boolean,
): Manifest[] {
  const kinds = new Set(manifests.filter(isOperatorsCrd).flatMap(({ spec }) => kindIn(spec as Json)));
  return manifests.map((manifest) => {
    const { metadata } = manifest;
    const wave = waveOf(manifest, kinds);
    const options = [
      ...(isKept(manifest) ? ["Prune=false", "Delete=false"] : []),
      ...(isOurs(manifest) && manifest["immutable"] === true ? ["PruneLast=true"] : []),
    ];
    const annotations = {
      ...(wave !== WAVES.platform && { [WAVE]: String(wave) }),
      ...(options.length > 0 && { [OPTIONS]: options.join(",") }),
      ...(isKept(manifest) && { [PRUNE]: "disabled" }),
      ...metadata.annotations,
    };
    if (Object.keys(annotations).length === 0) return manifest;
    return { ...manifest, metadata: { ...metadata, annotations } };
  });
}

/** Whether a manifest is the CRD of an operator. */
export function isOperatorsCrd({ kind, metadata: { labels } }: Manifest): boolean {
  return kind === "CustomResourceDefinition" && labels?.[OPERATOR_LABEL] !== undefined;
}

/** The kind that a CRD defines, as Argo CD names it: "cache.example.com_Memcached". */
export function kindIn(spec: Json | undefined): string[] {
  if (!isJsonObject(spec) || !isJsonObject(spec["names"])) return [];
  return [`${spec["group"]}_${spec["names"]["kind"]}`];
}

function waveOf(manifest: Manifest, kinds: ReadonlySet<string>): number {
  if (isOperatorsCrd(manifest)) return WAVES.kinds;
  const { apiVersion, kind, metadata } = manifest;
  if (kinds.has(`${groupOf(apiVersion)}_${kind}`)) return WAVES.objects;
  const isGround = ["Namespace", "CustomResourceDefinition", "PriorityClass"].includes(kind);
  const isArgos = ["argo-events", "argo-workflows"].includes(
    metadata.labels?.["app.kubernetes.io/name"] ?? "",
  );
  return isOurs(manifest) && !isGround && !isArgos ? WAVES.operators : WAVES.platform;
}

function isOurs({ metadata: { labels } }: Manifest): boolean {
  return labels?.["app.kubernetes.io/managed-by"] === "argosy";
}

const CRD_FILE = /^customresourcedefinition\.apiextensions\.k8s\.io_(.+)\.yaml$/;

/**
 * What to do before the removal of an operator's CRD is committed, a line each. The runner goes with the commit, and only the runner can
 * finalize the objects. Argosy sets no finalizers on objects of Argo's kinds.
 * @param removed the names of the files that are no longer rendered
 */
export function beforeCommit(removed: readonly string[]): string[] {
  return removed
    .flatMap((file) => CRD_FILE.exec(file)?.[1] ?? [])
    .filter((crd) => !crd.endsWith(".argoproj.io"))
    .map(
      (crd) =>
        `no longer rendered: ${crd}. If it has objects, they keep the finalizers that only the operator's runner removes, which goes too. Delete the CRD before you commit this: kubectl delete crd ${crd}`,
    );
}
