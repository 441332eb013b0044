import { type ObjectMeta, PROGRAM_ANNOTATION } from "../runtime/program";
import type { Findings, Look } from "./lookInCluster";

/** The installation that a program is about to create. */
export interface ExpectedInstallation {
  readonly installation: string;
  /** The ClusterRole that represents the installation. */
  readonly clusterRole: string;
  /** The program that creates it, as "project/stack". */
  readonly program: string;
}

/** Checks that the installation's name is free in the cluster, or already belongs to this program. */
export async function checkInstallation(
  look: Look,
  { installation, clusterRole, program }: ExpectedInstallation,
): Promise<Findings> {
  const found = await look.clusterRole(clusterRole);
  const maker = found === undefined || found === "absent" ? undefined : makerOf(found);
  if (maker === undefined || maker === program) return { problems: [], unseen: [] };
  return {
    problems: [
      `installation is "${installation}", which in this cluster belongs to the stack ${maker}. Give these operators ` +
        `another installation. If that stack no longer exists: kubectl delete clusterrole ${clusterRole}.`,
    ],
    unseen: [],
  };
}

/** The program that created an object, from the object's annotation. Undefined if there is no annotation. */
export function makerOf({
  metadata,
}: {
  readonly metadata: Pick<ObjectMeta, "annotations">;
}): string | undefined {
  return metadata.annotations?.[PROGRAM_ANNOTATION];
}
