import assert from "node:assert/strict";
import { WORKFLOWS } from "../../runtime/argo/workflows";
import type { RunCandidate } from "../../runtime/pod/resync/lookAtObjects";
import { submitRuns } from "../../runtime/pod/resync/submitRuns";
import type { EndedRuns } from "../../runtime/pod/workflows/endedRuns";
import { listLiveRuns } from "../../runtime/pod/workflows/liveRuns";
import { FakeCluster } from "./support/fakeCluster";
import { observed, operator } from "./support/objects";

const NAMESPACE = "argosy";

describe("the runs that a resync submits, if there is not room for all", () => {
  /** Submits runs for these objects, and returns the names of the objects that got one. */
  async function submittedOf(
    objects: readonly RunCandidate[],
    last: EndedRuns["last"] = new Map(),
  ): Promise<string[]> {
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
      last,
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

  const candidate = (name: string): RunCandidate => ({
    namespace: "shop",
    name,
    uid: name,
    isReportedOn: true,
    verdictAt: undefined,
    need: "routine",
  });

  const endedRun = (creationTimestamp: string) =>
    observed(WORKFLOWS.kind, {}, { name: "run", namespace: NAMESPACE, creationTimestamp });

  it("are for the objects whose last run began first, and before them for those of which no run is known", async () => {
    const objects = Array.from({ length: 40 }, (_, index) => candidate(`widget-${index}`));
    const began = (index: number) => `2026-01-01T00:${10 + (index < 20 ? 20 - index : index)}:00Z`;
    const last = new Map(objects.slice(0, 39).map(({ uid }, index) => [uid, endedRun(began(index))]));
    assert.deepEqual(await submittedOf(objects, last), ["widget-39", "widget-19", "widget-18"]);
  });

  it("are for any objects if nothing is known of their runs", async () => {
    const objects = Array.from({ length: 100 }, (_, index) => candidate(`widget-${index}`));
    const rounds = [await submittedOf(objects), await submittedOf(objects), await submittedOf(objects)];
    // That three times the same three get a run is as likely as 1 to 10 ** 11.
    assert.ok(new Set(rounds.map(String)).size > 1);
  });
});
