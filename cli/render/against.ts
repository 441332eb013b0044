import { compareCrdSets } from "../../components/crdVerdict/compareCrds";
import { anyCrdBreaks, formatCrdVerdict } from "../../components/crdVerdict/formatCrdVerdict";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { PROJECT_FOLDER } from "../projectFolder";
import { operatorsAt } from "./operatorsAt";

/** Exit code where a change breaks stored objects or clients: neither success nor a failure to tell. */
const BREAKING_EXIT_CODE = 3;

/**
 * Tells what the changes of the operators' CRDs since a git ref mean for stored objects and clients.
 * @param manifests - what is rendered now; Argo's own CRDs among it are not looked at
 * @returns the exit code
 */
export async function againstRef(
  ref: string,
  manifests: readonly Manifest[],
  tell: (line: string) => void,
): Promise<number> {
  const now = manifests.filter(
    ({ kind, metadata }) => kind === "CustomResourceDefinition" && !metadata.name.endsWith(".argoproj.io"),
  );
  const comparisons = compareCrdSets(await operatorsAt(PROJECT_FOLDER, ref), now);
  for (const line of formatCrdVerdict(comparisons)) tell(line);
  return anyCrdBreaks(comparisons) ? BREAKING_EXIT_CODE : 0;
}
