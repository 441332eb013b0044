import { type Findings, type Look, NOTHING } from "./lookInCluster";

/**
 * Checks whether the Workflow controller that a platform adopts is configured as the platform says. With another instance id, the
 * controller would never begin a run. With other pods, each run would fail.
 */
export async function checkAdoptedController(
  look: Look,
  { instanceId, initlessPods = false }: { readonly instanceId: string; readonly initlessPods?: boolean },
): Promise<Findings> {
  const controllers = (await look.workflowControllers()) ?? [];
  const candidates = controllers.filter((controller) => controller.instanceId === instanceId);
  if (candidates.some((controller) => controller.initlessPods === initlessPods)) return NOTHING;
  const [candidate] = candidates;
  if (candidate) {
    const state = candidate.initlessPods ? "has initlessPod enabled" : "does not have initlessPod enabled";
    const problem =
      `argoWorkflows is "adopt" and initlessPods is ${initlessPods}, but the existing Workflow controller ${state} (ConfigMap ` +
      `${candidate.configMap}). Set initlessPods to ${!initlessPods}.`;
    return { problems: [problem] };
  }
  if (controllers.length === 0) return NOTHING;
  // Only a warning, since a controller's ConfigMap can have any name.
  const others = controllers.map((other) => `"${other.instanceId}" in ${other.configMap}`).join(", ");
  const warning =
    `argoWorkflows is "adopt", and no Workflow controller with the instanceId "${instanceId}" was found (there is ${others}). If ` +
    "there is none, no run begins.";
  return { problems: [], warnings: [warning] };
}
