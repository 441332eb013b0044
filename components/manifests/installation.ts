import { type Manifest, PROGRAM_ANNOTATION } from "../../runtime/program";
import { labelsOf } from "./metadata";

/** A manifest that says which program made it. */
export function madeBy(program: string, manifest: Manifest): Manifest {
  const { metadata } = manifest;
  const annotations = { ...metadata.annotations, [PROGRAM_ANNOTATION]: program };
  return { ...manifest, metadata: { ...metadata, annotations } };
}

/** The name of the object that stands for an installation in a cluster. */
export function installationNameOf(installation: string): string {
  return `argosy-installation-${installation}`;
}

/**
 * The object that represents an installation: a ClusterRole without rights and without a binding. Every cluster has this kind,
 * and it has no namespace, so there is at most one object for each installation. It names the program of the installation. It
 * has no `rules` at all, because the API server answers an empty list with null, which Pulumi would change at each `up`.
 */
export function buildInstallation(installation: string, program: string): Manifest {
  return madeBy(program, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: installationNameOf(installation), labels: labelsOf("argosy", "installation") },
  });
}
