import { type ObjectMeta, PROGRAM_ANNOTATION } from "../runtime/program";
import type { Findings, Look } from "./lookInCluster";

/** The installation that a program is about to make. */
export interface ExpectedInstallation {
  readonly installation: string;
  /** The ClusterRole that represents the installation. */
  readonly clusterRole: string;
  /** The program that makes it, as "project/stack". */
  readonly program: string;
}

/** Looks whether the installation's name is free in the cluster, or this program's own. */
export async function checkInstallation(
  look: Look,
  { installation, clusterRole, program }: ExpectedInstallation,
): Promise<Findings> {
  const found = await look.clusterRole(clusterRole);
  const maker = found === undefined || found === "absent" ? undefined : makerOf(found);
  if (maker === undefined || maker === program) return { problems: [], unseen: [] };
  return {
    problems: [
      `installation is "${installation}", which in this cluster is that of the stack ${maker}. Give these operators another installation. If that stack is gone: kubectl delete clusterrole ${clusterRole}.`,
    ],
    unseen: [],
  };
}

/** The program that made an object, by the object's annotation. Undefined if it has none. */
export function makerOf({
  metadata,
}: {
  readonly metadata: Pick<ObjectMeta, "annotations">;
}): string | undefined {
  return metadata.annotations?.[PROGRAM_ANNOTATION];
}
