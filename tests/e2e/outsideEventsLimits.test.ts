import assert from "node:assert/strict";
import { RUNNER_PORTS } from "../../runtime/programs/layout";
import { session } from "./support/hooks";
import { kubectl, needKubectl } from "./support/kubectl";
import { LONG_MS, waitFor } from "./support/progress";
import {
  allAreThere,
  deployReleases,
  type ReleasesStack,
  releasesOf,
  selectorOf,
  TOKEN,
  URL,
  warnings,
} from "./support/releases";
import { NAMESPACE } from "./support/session";
import { startSender } from "./support/webhooks";

const MEBIBYTE = 2 ** 20;
const MEMBERS = 3;
const INTAKES = 2;
const EVENTS = 120;
const FEW = 10;
const POD = { apiVersion: "v1", kind: "Pod" };

describe(`events from outside, by a bus of ${MEMBERS} and ${INTAKES} intakes`, function () {
  this.timeout(LONG_MS);
  let stack: ReleasesStack | undefined;

  before(async function () {
    needKubectl(this);
    const settings = { outsideEventsReplicas: MEMBERS, outsideEventsIntakes: INTAKES };
    stack = await deployReleases("outside-limits", settings, MEMBERS);
  });

  after(() => stack?.takeDown());

  it("are taken, each once, while one member after the other is killed", async () => {
    const members = await session().api.list(POD, NAMESPACE, selectorOf("event-bus"));
    assert.equal(members.length, MEMBERS);
    const sender = await startSender(URL, TOKEN, releasesOf("example/members", EVENTS));
    for (const { metadata } of members) {
      await kubectl("delete", "pod", "--namespace", NAMESPACE, metadata.name);
      await waitFor(`${metadata.name} to be back`, () => isReady(metadata.name, metadata.uid), 300_000);
    }
    await sender.ended();
    await allAreThere("example/members", EVENTS);
  });

  it("are taken by the other intake as soon as the one at work is gone", async () => {
    const pods = await session().api.list(POD, NAMESPACE, selectorOf("intake"));
    assert.equal(pods.length, INTAKES);
    // The sensor keeps its connection, and so to one of them.
    for (const { metadata } of pods)
      if ((await createdBy(metadata.name)) > 0)
        await kubectl("delete", "pod", "--wait=false", "--namespace", NAMESPACE, metadata.name);
    await (await startSender(URL, TOKEN, releasesOf("example/intakes", FEW))).ended();
    await allAreThere("example/intakes", FEW);
  });

  it("are refused at once where the source finds them too large, and nothing is made of them", async () => {
    const huge = { event: "published", repository: "example/huge", version: "1.0.0" };
    const sender = await startSender(URL, TOKEN, [{ ...huge, padding: 2 * MEBIBYTE }], { tries: 1 });
    assert.deepEqual(await sender.ended(), { 400: 1 });
    // A later one has arrived, and it has not.
    await (await startSender(URL, TOKEN, [{ ...huge, version: "1.0.1" }])).ended();
    await allAreThere("example/huge", 1);
  });

  it("become a Warning where the source takes them and the intake finds them too large", async () => {
    const large = { event: "published", repository: "example/large", version: "1.0.0" };
    // With what Argo adds it is more than a mebibyte.
    const sender = await startSender(URL, TOKEN, [{ ...large, padding: MEBIBYTE - 200 }], { tries: 1 });
    assert.deepEqual(await sender.ended(), { 200: 1 });
    await waitFor("the Warning", async () => {
      const told = (await warnings()).map(({ reason, note }) => `${reason}: ${note}`);
      assert.equal(told.length, 1);
      assert.match(told.join(), /^EventRefused: .*has more than 1048576 bytes/);
    });
  });
});

async function isReady(name: string, formerUid: string): Promise<void> {
  const { metadata, status } = await session().api.get({ ...POD, metadata: { name, namespace: NAMESPACE } });
  assert.notEqual(metadata.uid, formerUid);
  const { conditions = [] } = status as { conditions?: { type: string; status: string }[] };
  assert.ok(conditions.some((each) => each.type === "Ready" && each.status === "True"));
}

/** How many objects an intake has made, by its own count. */
async function createdBy(pod: string): Promise<number> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod}:${RUNNER_PORTS.metrics}/proxy/metrics`;
  const metrics = await kubectl("get", "--raw", path);
  const counts = [...metrics.matchAll(/^argosy_intake_events_total\{.*result="created".*\} (\d+)$/gm)];
  assert.ok(counts.length > 0, metrics);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
