import type { Findings, Look } from "./lookInCluster";

/**
 * Checks whether the cluster has image volumes, which some operators need. An API server without them would silently leave them
 * out, and the handlers would find no files.
 *
 * @param operators the names of those operators
 */
export async function checkImageVolumes(look: Look, operators: readonly string[]): Promise<Findings> {
  if (operators.length === 0) return { problems: [], unseen: [] };
  const isThere = await look.keepsImageVolumes();
  if (isThere === undefined)
    return { problems: [], unseen: [`the feature ImageVolume for files of ${operators.join(", ")}`] };
  if (isThere) return { problems: [], unseen: [] };
  const remedy =
    "Kubernetes has them by default from 1.35 on, and from 1.31 on with the feature gate ImageVolume on the API server and " +
    "the nodes. Leave files out, or build an image of the handler with its files: image.";
  const problem = `files of ${operators.join(", ")} names an image, and the cluster has no image volumes. ${remedy}`;
  return { problems: [problem], unseen: [] };
}
