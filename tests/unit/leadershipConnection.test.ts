import assert from "node:assert/strict";
import { Leadership } from "../../runtime/leadership/leadership";
import { FREE, type Lease, leaseApi } from "../../runtime/leadership/lease";
import { eventually } from "../support/eventually";
import { json, refuse, TestApiServer } from "./support/testApiServer";

/** Longer than the test waits. */
const LEASE_SECONDS = 60;

describe("Leadership, when the connection breaks on which it takes the lease", () => {
  it("recognizes its own lease, and leads before the lease's time is over", async () => {
    let version = 1;
    let lease = { metadata: { name: "lease", uid: "uid", resourceVersion: "1" }, spec: FREE } as Lease;
    const api = await TestApiServer.start(({ method, body }, response) => {
      if (method !== "PUT") return json(response, lease);
      if ((body as Lease).metadata.resourceVersion !== lease.metadata.resourceVersion)
        return refuse(response, 409);
      const resourceVersion = String(++version);
      lease = { ...(body as Lease), metadata: { ...lease.metadata, resourceVersion } };
      if (version > 2) json(response, lease);
      else api.cut();
    });
    const client = api.client();
    const [leaders, terms]: [string[], unknown[]] = [[], []];
    const leadership = new Leadership({
      lease: leaseApi(client, "argosy", "lease"),
      identity: "one",
      leaseSeconds: LEASE_SECONDS,
      onLeading: (term) => void terms.push(term),
      onLost: () => {},
      onStandby: (leader) => void leaders.push(leader),
    });
    leadership.start();
    try {
      await eventually(() => assert.equal(terms.length, 1), { timeoutMs: 20_000 });
      const writes = api.calls.filter(({ method }) => method === "PUT").map(({ connection }) => connection);
      assert.deepEqual(writes.slice(0, 2), [1, 2], "it was sent twice");
      assert.deepEqual(leaders, [], "it waits for no leader");
    } finally {
      await leadership.stop();
      client.close();
      await api.stop();
    }
  }).timeout(40_000);
});
