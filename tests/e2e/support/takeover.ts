import assert from "node:assert/strict";
import { processesOf } from "./processes";
import { tell, waitFor } from "./progress";
import { leaseOf } from "./slow";

/**
 * Waits until another pod leads. Returns for how long no pod did, by the times in the Lease: from the former one's last renewal to
 * the next one's begin, in seconds.
 */
export async function takenOver(
  operator: string,
  former: string,
): Promise<{ leader: string; seconds: number }> {
  // A leader that hands over may have done so before the first look: it counts from here.
  let renewedAt = new Date().toISOString();
  const lease = await waitFor(`another than ${former} to lead`, async () => {
    const spec = await leaseOf(operator);
    const { holderIdentity = "", renewTime = "" } = spec;
    if (holderIdentity.startsWith(`${former}_`)) renewedAt = renewTime;
    assert.ok(holderIdentity !== "" && !holderIdentity.startsWith(`${former}_`), `${holderIdentity} leads`);
    return spec;
  });
  const seconds = (Date.parse(lease["acquireTime"] ?? "") - Date.parse(renewedAt)) / 1000;
  tell(`another led ${seconds.toFixed(1)} s after the last word of the former leader`);
  return { leader: (lease["holderIdentity"] ?? "").split("_")[0] ?? "", seconds };
}

/** The engine's processes of a pod, if it runs on this machine and we may look. */
export function enginesOf(pod: string): number[] {
  return processesOf("/engine.js", `ARGOSY_POD=${pod}`);
}
