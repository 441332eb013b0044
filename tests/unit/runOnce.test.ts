import assert from "node:assert/strict";
import type { Resource } from "../../runtime/base/resource";
import type { HandlerTransport } from "../../runtime/handler/handlerTransport";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { runOnce } from "../../runtime/programs/run/runOnce";
import { operator, WIDGETS } from "./support/objects";

const WORKFLOW = {
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Workflow",
  metadata: { name: "run", namespace: "argosy", uid: "run", resourceVersion: "1" },
  spec: { arguments: { parameters: ["namespace", "name"].map((name) => ({ name, value: "shop" })) } },
};

/** An API server that has the Workflow and not its object. @param errors the first answers about each kind */
function server(...errors: Error[]): KubernetesClient {
  const left = new Map<string, Error[]>();
  const answerAbout = ({ kind }: Resource) => {
    const error = left
      .set(kind, left.get(kind) ?? [...errors])
      .get(kind)
      ?.shift();
    if (error) throw error;
  };
  const client = {
    with: () => client,
    now: () => Date.now(),
    get: async (resource: Resource) => {
      answerAbout(resource);
      return resource.kind === "Workflow" ? WORKFLOW : undefined;
    },
    list: async (resource: Resource, _: unknown, onPage: (items: unknown[], pages: object) => void) => {
      answerAbout(resource);
      onPage([], {});
      return "1";
    },
    read: async () => ({ resources: [{ name: WIDGETS.plural, kind: WIDGETS.kind, namespaced: true }] }),
  };
  return client as unknown as KubernetesClient;
}

function run(client: KubernetesClient, patienceMs: number) {
  return runOnce({
    operator: operator(),
    client,
    transport: {} as HandlerTransport,
    namespace: "argosy",
    workflow: "run",
    instance: "pod",
    patienceMs,
  });
}

const AWAY = new ApiUnreachableError("GET /", new Error("connect ECONNREFUSED"));
const BUSY = new ApiError(504, { message: "the API server is starting" }, "GET /");

describe("a run in a pod of its own", () => {
  for (const [what, error] of Object.entries({ away: AWAY, busy: BUSY })) {
    it(`does not fail because the API server is ${what} for a moment, whatever the run reads then`, async () => {
      const { exitCode, message } = await run(server(error), 30_000);
      assert.deepEqual([exitCode, message], [0, "nothing to do: Widget shop/shop is gone"]);
    });
  }

  it("fails if the API server is away for longer than its patience", async () => {
    const { exitCode, message } = await run(server(AWAY), 500);
    assert.deepEqual([exitCode, message], [1, "GET /: connect ECONNREFUSED"]);
  });
});
