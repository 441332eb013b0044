import type { Findings, Look } from "./lookInCluster";

/** Why a cluster must have image volumes. */
export interface ImageVolumesNeed {
  /** The argument or field that needs them, and its value: "initlessPods is true". */
  readonly reason: string;
  /** What they are for, for a cluster that does not answer: "files of cache". */
  readonly purpose: string;
  /** What to change in the program if the cluster has none: "Leave initlessPods out". */
  readonly remedy: string;
}

/**
 * Checks whether the cluster has image volumes. An API server without them would silently leave them out, and the programs would
 * find no files.
 *
 * @param need undefined if nothing needs them
 */
export async function checkImageVolumes(look: Look, need: ImageVolumesNeed | undefined): Promise<Findings> {
  if (!need) return { problems: [], unseen: [] };
  const { reason, purpose, remedy } = need;
  const areThere = await look.keepsImageVolumes();
  if (areThere === undefined) return { problems: [], unseen: [`the feature ImageVolume for ${purpose}`] };
  if (areThere) return { problems: [], unseen: [] };
  const problem =
    `${reason}, and the cluster has no image volumes. Kubernetes has them by default from 1.35 on, and from 1.31 on with the ` +
    `feature gate ImageVolume on the API server and the nodes. ${remedy}.`;
  return { problems: [problem], unseen: [] };
}
