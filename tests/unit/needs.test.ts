import assert from "node:assert/strict";
import { lookAtObjects } from "../../runtime/pod/resync/lookAtObjects";
import { WIDGETS, widget } from "./support/objects";
import { json, TestApiServer } from "./support/testApiServer";

const [group] = WIDGETS.apiVersion.split("/");
const OPERATOR = {
  installation: "argosy",
  name: "shop",
  formerNames: [],
  namespaces: "all",
  children: [],
  uses: {},
  schedules: {},
  resyncSeconds: 600,
  customResource: { group, version: "v1", kind: WIDGETS.kind, plural: WIDGETS.plural, scope: "Namespaced" },
} as unknown as Parameters<typeof lookAtObjects>[0]["operator"];

describe("a look at all objects of an operator", () => {
  it("is not stopped by one that cannot be looked at: that one gets a run, which says why", async () => {
    const strange = { metadata: { ...widget().metadata, name: "strange", managedFields: {} } };
    const status = { observedGeneration: 1, conditions: [{ type: "Ready", status: "True" }] };
    const items = [{ ...widget(), ...strange, status }, widget({ name: "other", uid: "other" })];
    const api = await TestApiServer.start((_, response) =>
      json(response, { metadata: { resourceVersion: "5" }, items }),
    );
    const client = api.client();
    try {
      const told: string[] = [];
      const looked = await lookAtObjects({
        operator: OPERATOR,
        client,
        namespace: "argosy",
        program: undefined,
        now: Date.now(),
        onError: (what) => void told.push(what),
      });
      assert.deepEqual(
        looked.map(({ name, need }) => [name, need]),
        [
          ["strange", "urgent"],
          ["other", "urgent"],
        ],
      );
      assert.deepEqual(told, ["shop/strange"]);
    } finally {
      client.close();
      await api.stop();
    }
  });
});
