import assert from "node:assert/strict";
import { findRun, listRuns } from "../../cli/inspect/runs";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";

describe("runs in a cluster without Argo Workflows", () => {
  const client = {
    listAll: async () => {
      throw new ApiError(404, { message: "404 page not found" }, "GET /apis/argoproj.io/v1alpha1/workflows");
    },
  } as unknown as KubernetesClient;

  it("are none", async () => {
    const { runs, unseen } = await listRuns(client, { homes: [] }, () => undefined);
    assert.deepEqual([runs, unseen], [[], undefined]);
  });

  it("are not found by name, and the message says why", async () => {
    await assert.rejects(findRun(client, "cache-1", { operators: [], unreadable: [] }), {
      message:
        /^There is no run cache-1 in this cluster\. .* Without Argo Workflows no runs are kept, except by argosy dev\./,
    });
  });
});
