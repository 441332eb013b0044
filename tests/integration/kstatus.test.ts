import assert from "node:assert/strict";
import { ARGO_CD_HEALTH } from "../../cli/render/argoCdHealth";
import { conditionsIn } from "../../runtime/base/objects";
import { engineStatuses } from "../unit/support/engineStatuses";
import { healthOf } from "../unit/support/luaHealth";
import { manyTold, type ToldObject } from "../unit/support/toldStatuses";
import { type FluxStatus, fluxStatuses, kstatusProgram } from "./support/kstatus";

/** What Flux must make of an object. */
function expected({ isGoing, result, run }: ToldObject): readonly FluxStatus["status"][] {
  if (isGoing) return ["Terminating"];
  // The conditions say both of it, and kstatus takes the first.
  if (result === "stalled") return run === "awaiting" ? ["Failed", "InProgress"] : ["Failed"];
  return result === "ready" && run !== "awaiting" ? ["Current"] : ["InProgress"];
}

describe("Flux's kstatus", function () {
  this.timeout(60_000);
  let program: string;

  before(async function () {
    this.timeout(0);
    const found = await kstatusProgram();
    if ("program" in found) {
      program = found.program;
      return;
    }
    console.log(`kstatus is not built: ${found.missing}`);
    this.skip();
  });

  it("is right about every status that the engine can write, in CRDs of every shape", () => {
    const all = manyTold();
    const seen = new Set<string>();
    for (const [index, { status }] of fluxStatuses(
      program,
      all.map(({ object }) => object),
    ).entries()) {
      const each = all[index] as (typeof all)[number];
      seen.add(status);
      const told = `${each.shape}: ${each.steps.join(", ")}: ${status}`;
      assert.ok(expected(each).includes(status), told);
    }
    assert.deepEqual([...seen].sort(), ["Current", "Failed", "InProgress", "Terminating"]);
  });

  it("says the same as Argo CD's health check of what a real engine has written", async () => {
    const objects = await engineStatuses();
    const statuses = fluxStatuses(program, objects);
    for (const [index, object] of objects.entries()) {
      const { status } = statuses[index] as FluxStatus;
      const health = healthOf(ARGO_CD_HEALTH, object).status;
      const isRetried = conditionsIn(object["status"]).some(({ reason }) => reason === "Retrying");
      const fits: Record<string, readonly string[]> = {
        Healthy: ["Current", "Terminating"],
        Progressing: ["InProgress", "Terminating"],
        Degraded: [isRetried ? "InProgress" : "Failed", "Terminating"],
        Suspended: ["Current", "InProgress"],
      };
      assert.ok(fits[health]?.includes(status), `${status}, ${health}: ${JSON.stringify(object)}`);
    }
  });
});
