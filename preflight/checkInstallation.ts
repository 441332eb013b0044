// Is the installation's name free?
import { type Findings, type Look, NOTHING } from "./lookInCluster";
import { ifRenamed, makerOf } from "./makers";

/** The installation that a program is about to create. */
export interface ExpectedInstallation {
  readonly installation: string;
  /** The ClusterRole that represents the installation. */
  readonly clusterRole: string;
  /** The program that creates it, as "organization/project/stack". */
  readonly program: string;
}

/** Checks that the installation's name is free in the cluster, or already belongs to this program. */
export async function checkInstallation(
  look: Look,
  { installation, clusterRole, program }: ExpectedInstallation,
): Promise<Findings> {
  const found = await look.clusterRole(clusterRole);
  const maker = found === undefined || found === "absent" ? undefined : makerOf(found);
  if (maker === undefined || maker === program) return NOTHING;
  return {
    problems: [
      `installation is "${installation}", which in this cluster belongs to the stack ${maker}. ` +
        `${ifRenamed(maker, `clusterrole ${clusterRole}`, program)} If that is another stack, give these operators another ` +
        `installation. If that stack no longer exists: kubectl delete clusterrole ${clusterRole}.`,
    ],
  };
}
