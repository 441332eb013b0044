import assert from "node:assert/strict";
import { HttpTransport } from "../../runtime/kubernetes/transport";
import { always } from "../support/eventually";
import { assertChild, createReady, FORMS, readyIs } from "./support/forms";
import { session } from "./support/hooks";
import { needKubectl } from "./support/kubectl";
import { NAMESPACE } from "./support/session";
import { createSlow, leaderOf, letGo } from "./support/slow";
import { enginesOf, takenOver } from "./support/takeover";

const { resident } = FORMS;
const MOST_SECONDS = 20;
/** For how long a former leader, set free, could write what is stale. */
const LOOK_MS = 10_000;
const READY = { status: "True", reason: "Reconciled" } as const;

describe("the one that stands by", () => {
  before(async () => {
    await session().up();
  });

  it("leads within 20 s of the leader's death, and handles what has changed since", async () => {
    await createReady(resident, "before-fall", 1);
    const leader = await leaderOf(resident.operator);
    const transport = new HttpTransport(session().connection);
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${leader}`;
    await transport.send({ method: "DELETE", path, body: { gracePeriodSeconds: 0 } });
    transport.close();
    await session().api.patch(resident.object("before-fall", 1), { spec: { size: 2 } });
    await session().api.create(resident.object("after-fall", 1));
    const { seconds } = await takenOver(resident.operator, leader);
    assert.ok(seconds <= MOST_SECONDS, `${seconds} s`);
    for (const name of ["before-fall", "after-fall"]) await readyIs(resident, name, READY);
    await assertChild(resident, "before-fall", 2);
  });

  it("leads within 20 s of the leader's freezing, which writes nothing stale when it wakes", async function () {
    needKubectl(this);
    const leader = await createSlow(resident, "frozen");
    const engines = enginesOf(leader);
    if (engines.length === 0) {
      process.stderr.write("      skipped: the leader's processes are not to be seen on this machine\n");
      return this.skip();
    }
    for (const engine of engines) process.kill(engine, "SIGSTOP");
    try {
      await session().api.patch(resident.object("frozen", 0), { spec: { size: 1 } });
      const { seconds } = await takenOver(resident.operator, leader);
      assert.ok(seconds <= MOST_SECONDS, `${seconds} s`);
      await readyIs(resident, "frozen", READY);
      await assertChild(resident, "frozen", 1);
      // Its handler answers for what the object was.
      await letGo(leader);
    } finally {
      for (const engine of engines) wake(engine);
    }
    await always(() => assertChild(resident, "frozen", 1), { forMs: LOOK_MS });
    assert.notEqual(await leaderOf(resident.operator), leader);
  });
});

/** The kubelet may have ended it, since it did not answer its probes. */
function wake(process_: number): void {
  try {
    process.kill(process_, "SIGCONT");
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "ESRCH");
  }
}
