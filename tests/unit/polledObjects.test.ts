import assert from "node:assert/strict";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { KubernetesObject, ObjectName } from "../../runtime/kubernetes/objects";
import { PolledObjects } from "../../runtime/uses/polledObjects";
import { eventually } from "../support/eventually";

const NAME = { namespace: "shop", name: "db" };

describe("PolledObjects", () => {
  let server: Map<string, KubernetesObject>;
  let reads: string[];
  let inUse: ObjectName[];
  let isActive: boolean;
  let changes: (string | undefined)[];
  let polled: PolledObjects;

  function secret(version: number, labels: Record<string, string> = { ours: "yes" }): KubernetesObject {
    const metadata = { ...NAME, uid: "u", resourceVersion: String(version), labels, managedFields: [] };
    return { apiVersion: "v1", kind: "Secret", metadata, data: {} };
  }

  beforeEach(() => {
    [server, reads, inUse, isActive, changes] = [new Map(), [], [NAME], true, []];
    const client = {
      with: () => client,
      get: async (_: unknown, { name }: ObjectName) => {
        reads.push(name);
        return server.get(name);
      },
    } as unknown as KubernetesClient;
    polled = new PolledObjects({
      client,
      keys: ["credentials"],
      namesOf: () => inUse,
      isGiven: (_, { metadata }) => metadata.labels?.["ours"] === "yes",
      isActive: () => isActive,
      onChange: (_, __, object) => void changes.push(object?.metadata.resourceVersion),
      onError: () => {},
      periodMs: 20,
    });
  });
  afterEach(() => polled.stop());

  it("reads a Secret once, however many need it at once, and gives it without managedFields", async () => {
    server.set("db", secret(1));
    const objects = await Promise.all([1, 2, 3].map(() => polled.get("credentials", NAME)));
    assert.deepEqual(reads, ["db"]);
    for (const object of objects) assert.ok(object && !("managedFields" in object.metadata));
  });

  it("reads again what is in use, and reports what changed, came or went", async () => {
    polled.start();
    assert.equal(await polled.get("credentials", NAME), undefined);
    server.set("db", secret(1));
    await eventually(() => assert.deepEqual(changes, ["1"]));
    server.set("db", secret(2));
    await eventually(() => assert.deepEqual(changes, ["1", "2"]));
    server.delete("db");
    await eventually(() => assert.deepEqual(changes, ["1", "2", undefined]));
  });

  it("keeps nothing that is not given, and reports that it is taken away", async () => {
    polled.start();
    server.set("db", secret(1));
    assert.ok(await polled.get("credentials", NAME));
    server.set("db", secret(2, {}));
    await eventually(() => assert.deepEqual(changes, [undefined]));
    assert.equal(await polled.get("credentials", NAME), undefined);
  });

  it("reads nothing that no object names any more, and nothing while it does not lead", async () => {
    isActive = false;
    polled.start();
    await polled.get("credentials", NAME);
    const pause = () => new Promise((resolve) => setTimeout(resolve, 70));
    await pause();
    assert.equal(reads.length, 1);
    [isActive, inUse] = [true, []];
    await pause();
    assert.equal(reads.length, 1);
  });
});
