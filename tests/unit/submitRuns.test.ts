import assert from "node:assert/strict";
import { WORKFLOWS } from "../../runtime/argo/workflows";
import type { RunCandidate } from "../../runtime/pod/resync/lookAtObjects";
import { submitRuns } from "../../runtime/pod/resync/submitRuns";
import { listLiveRuns } from "../../runtime/pod/workflows/liveRuns";
import { FakeCluster } from "./support/fakeCluster";
import { observed, operator } from "./support/objects";

const NAMESPACE = "argosy";

describe("the runs that a resync submits, if there is not room for all", () => {
  /** Submits runs for these objects, and returns the names of the objects that got one. */
  async function submittedOf(objects: readonly RunCandidate[]): Promise<string[]> {
    const cluster = new FakeCluster();
    const client = cluster.client();
    client.create = async (_resource, { metadata, spec }) => {
      const run = observed(WORKFLOWS.kind, { spec }, { ...metadata, uid: metadata.name });
      cluster.put(run);
      return run;
    };
    const options = {
      operator: operator({ execution: "pod", concurrency: 6 }),
      client,
      namespace: NAMESPACE,
      instanceId: "",
      begin: performance.now(),
      withinMs: 40,
      lookMs: 1,
      onError: (_what: string, error: Error) => assert.fail(error),
    };
    await submitRuns(objects, await listLiveRuns(options), options);
    return cluster
      .ofKind(WORKFLOWS.kind)
      .map(({ metadata }) => metadata.labels?.["argosy.dev/object-uid"] ?? "");
  }

  const candidate = (name: string, more: Partial<RunCandidate>): RunCandidate => ({
    namespace: "shop",
    name,
    uid: name,
    isReportedOn: true,
    verdictAt: undefined,
    need: "routine",
    ...more,
  });

  it("are for the objects that have been due for the longest time", async () => {
    const objects = Array.from({ length: 40 }, (_, index) =>
      candidate(`due-${index}`, { dueSince: index < 20 ? 100 - index : 100 + index }),
    );
    assert.deepEqual(await submittedOf(objects), ["due-19", "due-18", "due-17"]);
  });

  it("are for objects that are due and for others alike", async () => {
    const due = Array.from({ length: 100 }, (_, index) => candidate(`due-${index}`, { dueSince: index }));
    const others = Array.from({ length: 100 }, (_, index) => candidate(`other-${index}`, {}));
    const seen = new Set<string>();
    // That one of the two has no place in 20 times three is as likely as 1 to 2 ** 59.
    for (let round = 0; round < 20; round++)
      for (const name of await submittedOf([...due, ...others])) seen.add(name.replace(/-.*/, ""));
    assert.deepEqual([...seen].sort(), ["due", "other"]);
  });
});
