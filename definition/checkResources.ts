import type { Report } from "./problems";
import { amountOf } from "./quantity";
import type { CheckedDefinition } from "./schema";

/** Checks that no request is above its limit. Kubernetes would refuse the runner's pods. */
export function checkResources({ resources }: Pick<CheckedDefinition, "resources">, report: Report): void {
  const { requests = {}, limits = {} } = resources;
  for (const [resource, request] of Object.entries(requests)) {
    const limit = limits[resource];
    if (limit === undefined || (amountOf(request) ?? 0) <= (amountOf(limit) ?? 0)) continue;
    const field = `resources.requests.${resource}`;
    report(field, `is ${request}, and the limit is ${limit}`, "Give at most the limit, or raise the limit.", [
      `resources.limits.${resource}`,
    ]);
  }
}
