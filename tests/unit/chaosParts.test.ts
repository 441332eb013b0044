import assert from "node:assert/strict";
import { Administrator } from "../../tools/chaos/inCluster/administrator";
import { partsOf } from "../../tools/chaos/inCluster/parts";
import { json, TestApiServer } from "./support/testApiServer";

describe("the parts that chaos goes wrong with", () => {
  let server: TestApiServer;
  let administrator: Administrator;
  /** What the API server tells, each time it is asked; the last is told ever after. */
  let holders: string[];
  let runners: string[][];

  const next = <Item>(list: Item[]) => (list.length > 1 ? list.shift() : list[0]);
  const pod = (name: string) => ({ metadata: { name, namespace: "argosy", uid: name } });

  beforeEach(async () => {
    holders = ["a_1"];
    runners = [["a", "b"]];
    server = await TestApiServer.start(({ path }, response) => {
      if (path.includes("/leases/"))
        return json(response, { metadata: { name: "lease" }, spec: { holderIdentity: next(holders) } });
      return json(response, { metadata: { resourceVersion: "1" }, items: (next(runners) ?? []).map(pod) });
    });
    administrator = new Administrator(server.connection());
  });
  afterEach(async () => {
    administrator.close();
    await server.stop();
  });

  const namesOf = async (part: "leader" | "standby" | "runners") => {
    const pods = await partsOf(administrator, "resident")[part]();
    return pods.map(({ metadata }) => metadata.name);
  };

  it("are told apart by who holds the lease", async () => {
    assert.deepEqual(await namesOf("leader"), ["a"]);
    assert.deepEqual(await namesOf("standby"), ["b"]);
    assert.deepEqual(await namesOf("runners"), ["a", "b"]);
  });

  it("are waited for while the lease still names a runner that is gone", async () => {
    holders = ["gone_1", "", "b_2"];
    assert.deepEqual(await namesOf("leader"), ["b"]);
    holders = ["gone_1", "b_2"];
    assert.deepEqual(await namesOf("standby"), ["a"]);
  });

  it("are waited for while there is none of them", async () => {
    runners = [[], ["a"]];
    assert.deepEqual(await namesOf("runners"), ["a"]);
    runners = [["a"], ["a", "b"]];
    assert.deepEqual(await namesOf("standby"), ["b"]);
  });
});
