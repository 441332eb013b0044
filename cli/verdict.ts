import { compareCrdSets } from "../components/crdVerdict/compareCrds";
import { anyCrdBreaks, formatCrdVerdict } from "../components/crdVerdict/formatCrdVerdict";
import { EXIT_CODES } from "./commandError";
import { findProject } from "./project";
import { manifestsOf } from "./render/manifests";
import { manifestsAt } from "./render/manifestsAt";
import { renderStack, type StackOptions } from "./render/renderStack";
import { print } from "./terminal";

/** @see verdict */
export interface VerdictOptions extends StackOptions {
  readonly json?: true;
}

/** `argosy verdict REF`: what the changes of the operators' CRDs since a git ref mean for stored objects and clients. */
export async function verdict(
  ref: string,
  { stack, platform, project, json }: VerdictOptions,
): Promise<number> {
  const folder = findProject(project);
  // Argo's CRDs do not belong to the operators.
  const rendered = async (place: string) =>
    manifestsOf(await renderStack(place, stack, platform)).filter(
      ({ kind, metadata }) => kind === "CustomResourceDefinition" && !metadata.name.endsWith(".argoproj.io"),
    );
  const now = await rendered(folder);
  const comparisons = compareCrdSets(await manifestsAt(folder, ref, rendered), now);
  if (json) print(JSON.stringify({ crds: comparisons }));
  else for (const line of formatCrdVerdict(comparisons)) print(line);
  return anyCrdBreaks(comparisons) ? EXIT_CODES.found : EXIT_CODES.fine;
}
