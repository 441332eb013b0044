// Argo CD's health checks of the operators' kinds.
import { PAUSED_ANNOTATION } from "../../runtime/base/names";
import type { Json, Manifest } from "../../runtime/base/objects";
import { WAITING_REASONS } from "../../runtime/cli";
import { isOperatorsCrd, kindIn } from "./gitOps";

/**
 * What Argo CD runs for each object of our kinds. One text is enough, since the engine writes the same conditions for all of them
 * (`conditionsOf` in remember/composeStatus.ts).
 *
 * | the object | health |
 * | --- | --- |
 * | is paused | Suspended: else it would be Progressing until a user ends the pause |
 * | has no status yet, one of an earlier generation, or one that a backup brought back | Progressing |
 * | failed, whether it is tried again or not | Degraded: a failure may be repeated for days |
 * | waits for its children, its handler's cleaning up or a run's pod | Progressing |
 * | is ready | Healthy |
 *
 * Argo CD itself says of each object that is being deleted that it is Progressing, and does not ask (argo-cd,
 * gitops-engine/pkg/health/health.go, GetResourceHealth). Scripts of users have only the libraries base and table, the object as the
 * global `obj`, and a second of time. They return a table with `status` and `message` (util/lua/lua.go, runLuaWithResourceActionParameters
 * and ExecuteHealthLua). Of Lua, only what the versions 5.1 and 5.3 have in common is used: Argo CD has 5.1, and the tests have 5.3.
 */
export const ARGO_CD_HEALTH = `local status = obj.status or {}
local paused = (obj.metadata.annotations or {})["${PAUSED_ANNOTATION}"]
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type or ""] = condition
end
local ready = conditions.Ready or {}
local reconciling = conditions.Reconciling or {}
local waits = { ${WAITING_REASONS.map((reason) => `${reason} = true`).join(", ")} }

if paused ~= nil and paused ~= "false" then
  return { status = "Suspended", message = "paused by the annotation ${PAUSED_ANNOTATION}" }
end
if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "this generation is not reconciled yet" }
end
if ready.status == "False" and not waits[ready.reason] then
  return { status = "Degraded", message = ready.message }
end
if ready.status == "True" and reconciling.status ~= "True" then
  return { status = "Healthy", message = ready.message }
end
return { status = "Progressing", message = reconciling.message or ready.message }
`;

/**
 * The health checks as Argo CD's ConfigMap, with a key for each of the operators' kinds. A pattern for all kinds of a group is possible
 * only in the older key that has everything (argo-cd, docs/operator-manual/health.md). The ConfigMap has no namespace, since only its
 * user knows where Argo CD is. Undefined if there is no such kind.
 * @param manifests all of a program
 */
export function argoCdHealth(manifests: readonly Manifest[]): Manifest | undefined {
  const kinds = manifests.filter(isOperatorsCrd).flatMap(({ spec }) => kindIn(spec as Json));
  if (kinds.length === 0) return undefined;
  const checks = kinds.map((kind) => [`resource.customizations.health.${kind}`, ARGO_CD_HEALTH]);
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "argocd-cm" },
    data: Object.fromEntries(checks),
  };
}
