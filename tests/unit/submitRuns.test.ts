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

  const endedRun = (creationTimestamp: string, phase = "Succeeded") =>
    observed(
      WORKFLOWS.kind,
      {},
      {
        name: "run",
        namespace: NAMESPACE,
        creationTimestamp,
        labels: { "workflows.argoproj.io/phase": phase },
      },
    );

  it("are for the objects whose last run began first, and before them for those of which no run is known", async () => {
    const objects = Array.from({ length: 40 }, (_, index) => candidate(`widget-${index}`));
    const began = (index: number) => `2026-01-01T00:${10 + (index < 20 ? 20 - index : index)}:00Z`;
    const last = new Map(objects.slice(0, 39).map(({ uid }, index) => [uid, endedRun(began(index))]));
    assert.deepEqual(await submittedOf(objects, last), ["widget-39", "widget-19", "widget-18"]);
  });

  it("are for an object that failed long ago as for those whose runs are gone by now", async () => {
    const objects = ["failed", "a", "b", "c"].map(candidate);
    const last = new Map([
      ["failed", endedRun("2026-01-01T00:00:00Z", "Failed")],
      ["another", endedRun("2026-01-01T12:00:00Z")],
    ]);
    const seen = new Set<string>();
    // That it has no place in 30 times three of four is as likely as 1 to 4 ** 30.
    for (let round = 0; round < 30; round++)
      for (const name of await submittedOf(objects, last)) seen.add(name);
    assert.ok(seen.has("failed"));
  });

  it("are for any objects if nothing is known of their runs", async () => {
    const objects = Array.from({ length: 100 }, (_, index) => candidate(`widget-${index}`));
    const rounds = [await submittedOf(objects), await submittedOf(objects), await submittedOf(objects)];
    // That three times the same three get a run is as likely as 1 to 10 ** 11.
    assert.ok(new Set(rounds.map(String)).size > 1);
  });
});
