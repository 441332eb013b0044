import assert from "node:assert/strict";
import { openUsersCluster } from "../../cli/cluster/openCluster";
import { json, refuse, TestApiServer } from "./support/testApiServer";

describe("cli: the user's cluster", () => {
  let api: TestApiServer;
  beforeEach(async () => {
    api = await TestApiServer.start();
  });
  afterEach(() => api.stop());

  function open() {
    const { server, certificateAuthority = "" } = api.connection();
    const authority = Buffer.from(certificateAuthority).toString("base64");
    const kubeconfig = JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "one",
      clusters: [{ name: "c", cluster: { server, "certificate-authority-data": authority } }],
      contexts: [{ name: "one", context: { cluster: "c", user: "u" } }],
      users: [{ name: "u", user: { token: "t" } }],
    });
    return openUsersCluster({ kubeconfig });
  }

  it("is opened if it answers", async () => {
    api.answer = (_, response) => json(response, { major: "1" });
    assert.equal((await open()).isUsers, true);
  });

  for (const [what, code, message] of [
    [
      "does not recognize the user, with what to do",
      401,
      /does not recognize the user .*Log in to the cluster again/,
    ],
    ["is busy", 503, /does not answer: .*Start it, or name another cluster/],
  ] as const)
    it(`is not opened if it ${what}`, async () => {
      api.answer = (_, response) => refuse(response, code, { message: "no" });
      await assert.rejects(open(), message);
    });
});
