// Does the cluster have image volumes, if an operator's files are an image?
import { type Findings, type Look, NOTHING } from "./lookInCluster";

/** Why a cluster must have image volumes. */
export interface ImageVolumesNeed {
  /** The argument or field that needs them, and its value: "initlessPods is true". */
  readonly reason: string;
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
  if (!need || (await look.keepsImageVolumes()) !== false) return NOTHING;
  const { reason, remedy } = need;
  const problem =
    `${reason}, and the cluster has no image volumes. Kubernetes has them by default from 1.35 on, and in 1.34 with the ` +
    `feature gate ImageVolume on the API server and the nodes. ${remedy}.`;
  return { problems: [problem] };
}
