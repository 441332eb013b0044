import assert from "node:assert/strict";
import { WORKFLOWS } from "../../runtime/argo/workflows";
import { identityOf } from "../../runtime/names";
import { listEndedRuns } from "../../runtime/pod/workflows/endedRuns";
import { FakeCluster } from "./support/fakeCluster";
import { IDENTITY, observed, operator } from "./support/objects";

const NAMESPACE = "argosy";

describe("failed runs that wait for the archive", () => {
  let cluster: FakeCluster;
  beforeEach(() => {
    cluster = new FakeCluster();
  });

  /** A failed run of an object. @param second in which it was created */
  function failed(object: string, second: number, labels: Record<string, string> = {}) {
    const metadata = {
      name: `${object}-${second}`,
      namespace: NAMESPACE,
      uid: `${object}-${second}-uid`,
      creationTimestamp: `2026-01-01T00:00:${second}Z`,
      labels: {
        "argosy.dev/operator": identityOf(IDENTITY),
        "argosy.dev/object-uid": object,
        "workflows.argoproj.io/completed": "true",
        "workflows.argoproj.io/phase": "Failed",
        "workflows.argoproj.io/workflow-archiving-status": "Pending",
        ...labels,
      },
    };
    cluster.put(observed(WORKFLOWS.kind, {}, metadata));
  }

  async function listed() {
    const { superseded, unarchived } = await listEndedRuns({
      operator: operator({ execution: "pod" }),
      client: cluster.client(),
      namespace: NAMESPACE,
      mostUnarchived: 3,
    });
    return [superseded.map(({ metadata }) => metadata.name), unarchived];
  }

  it("are spared while there are few", async () => {
    for (const second of [10, 11, 12, 13]) failed("a", second);
    assert.deepEqual(await listed(), [[], 0]);
  });

  it("go if there are too many, the oldest of all objects first, and never the last one of an object", async () => {
    failed("c", 10);
    for (const second of [15, 13, 17]) failed("a", second);
    for (const second of [12, 14, 16, 18]) failed("b", second);
    assert.deepEqual(await listed(), [["b-12", "a-13"], 2]);
  });

  it("are not counted once they are archived", async () => {
    failed("a", 10, { "workflows.argoproj.io/workflow-archiving-status": "Archived" });
    for (const second of [11, 12, 13, 14]) failed("a", second);
    assert.deepEqual(await listed(), [["a-10"], 0]);
  });
});
