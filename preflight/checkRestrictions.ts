// Does an Argo that this program does not install accept every Workflow?
import type { Findings, Look } from "./lookInCluster";

/**
 * Warns of other programs' Workflow controllers that accept any Workflow. If such a controller manages the operators' namespace,
 * any user who may create Workflows there can run any pod as any account of this namespace. This is only a warning, since Argosy
 * cannot see which namespaces a controller manages, and other users of that controller may need Workflows without a template.
 */
export async function checkRestrictions(
  look: Look,
  { namespace }: { readonly namespace: string },
): Promise<Findings> {
  const controllers = (await look.workflowControllers()) ?? [];
  const warnings = controllers
    .filter(({ takesOnlyTemplates }) => !takesOnlyTemplates)
    .map(
      ({ configMap }) =>
        `the Workflow controller of the ConfigMap ${configMap} accepts any Workflow. If it manages the namespace ${namespace}, each ` +
        `account that may create Workflows there can run any pod as any account there. Set "workflowRestrictions: ` +
        `{ templateReferencing: Strict }" in this ConfigMap, or let this controller manage other namespaces only.`,
    );
  return { problems: [], warnings };
}
