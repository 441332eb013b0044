import { DOMAIN, type Manifest } from "../../runtime/program";
import { labelsOf } from "./metadata";

/** On what there can be only one of in a cluster: the program that made it, as "project/stack". */
const PROGRAM_ANNOTATION = `${DOMAIN}/program`;

/** A manifest that says which program made it. */
export function madeBy(program: string, manifest: Manifest): Manifest {
  const { metadata } = manifest;
  const annotations = { ...metadata.annotations, [PROGRAM_ANNOTATION]: program };
  return { ...manifest, metadata: { ...metadata, annotations } };
}

/** The program that an object says it was made by. Undefined if it says nothing. */
export function makerOf({
  metadata,
}: {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}): string | undefined {
  return metadata.annotations?.[PROGRAM_ANNOTATION];
}

/** The name of the object that stands for an installation in a cluster. */
export function installationNameOf(installation: string): string {
  return `argosy-installation-${installation}`;
}

/**
 * What stands for an installation: a ClusterRole without rights, bound to nobody. It is of a kind that every cluster has
 * and that has no namespace, so that there is at most one for each installation, and it says which program that is. It
 * has no `rules` at all: the API server answers an empty list with null, which Pulumi would change at each `up`.
 */
export function buildInstallation(installation: string, program: string): Manifest {
  return madeBy(program, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: installationNameOf(installation), labels: labelsOf("argosy", "installation") },
  });
}
