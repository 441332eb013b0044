import { z } from "zod";
import { CRD_COMPARISON, compareCrdSets } from "../../components/crdVerdict/compareCrds";
import { anyCrdBreaks, formatCrdVerdict } from "../../components/crdVerdict/formatCrdVerdict";
import { EXIT_CODES } from "../common/commandError";
import { command } from "../common/declaration";
import { jsonOption, stackOptions } from "../common/options";
import { findProject } from "../common/project";
import { print } from "../common/terminal";
import { manifestsOf } from "../render/manifests";
import { manifestsAt } from "../render/manifestsAt";
import { renderStack } from "../render/renderStack";

/** `argosy verdict REF`: what the changes of the operators' CRDs since a git ref mean for stored objects and clients. */
export default command({
  description:
    "Says what the changes of the operators' CustomResourceDefinitions since a git ref mean for stored objects and for " +
    "clients: each change is breaking or safe. The program of the ref is run with the packages that are installed now, " +
    "except for those of the repository itself. The exit code is 3 if a change is breaking.",
  arguments: [["<ref>", "the git ref to compare with: a branch, a tag or a commit"]],
  options: [...stackOptions(), jsonOption(z.strictObject({ crds: z.array(CRD_COMPARISON).readonly() }))],
  async run(ref, { stack, platform, project, json }) {
    const folder = findProject(project);
    // Argo's CRDs do not belong to the operators.
    const rendered = async (place: string) =>
      manifestsOf(await renderStack(place, stack, platform)).filter(
        ({ kind, metadata }) =>
          kind === "CustomResourceDefinition" && !metadata.name.endsWith(".argoproj.io"),
      );
    const now = await rendered(folder);
    const comparisons = compareCrdSets(await manifestsAt(folder, ref, rendered), now);
    if (json) json({ crds: comparisons });
    else for (const line of formatCrdVerdict(comparisons)) print(line);
    return anyCrdBreaks(comparisons) ? EXIT_CODES.found : EXIT_CODES.fine;
  },
});
