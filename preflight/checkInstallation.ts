import { installationNameOf, makerOf } from "../components/manifests/installation";
import type { Findings, Look } from "./lookInCluster";

/** Looks whether the installation's name is free in the cluster, or this program's own. */
export async function checkInstallation(
  look: Look,
  { installation, program }: { readonly installation: string; readonly program: string },
): Promise<Findings> {
  const name = installationNameOf(installation);
  const found = await look.clusterRole(name);
  const maker = found === undefined || found === "absent" ? undefined : makerOf(found);
  if (maker === undefined || maker === program) return { problems: [], unseen: [] };
  return {
    problems: [
      `installation is "${installation}", which in this cluster is that of the stack ${maker}. Give these operators another installation. If that stack is gone: kubectl delete clusterrole ${name}.`,
    ],
    unseen: [],
  };
}
