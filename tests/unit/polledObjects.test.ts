import assert from "node:assert/strict";
import { type KubernetesObject, type ObjectName, withoutManagedFields } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { RequestTraits } from "../../runtime/kubernetes/gate";
import { Store } from "../../runtime/observe/store";
import { PolledObjects } from "../../runtime/observe/uses/polledObjects";
import { type UsedFacts, usedFactsOf } from "../../runtime/observe/uses/useIndex";
import { eventually } from "../support/eventually";

const NAME = { namespace: "shop", name: "db" };

describe("PolledObjects", () => {
  let server: Map<string, KubernetesObject>;
  let reads: string[];
  let inUse: ObjectName[];
  let isActive: boolean;
  let changes: (string | undefined)[];
  let polled: PolledObjects;
  let client: KubernetesClient;
  /** What custom resources of other namespaces use. */
  let others: Record<string, ObjectName[]>;
  /** Whether the API server gives no answer, and about which Secrets. */
  let hangs: boolean | string;
  /** Ends the requests of the client. */
  let ended: AbortSignal | undefined;
  let errors: string[];

  function secret(version: number, labels: Record<string, string> = { ours: "yes" }): KubernetesObject {
    const metadata = { ...NAME, uid: "u", resourceVersion: String(version), labels, managedFields: [] };
    return { apiVersion: "v1", kind: "Secret", metadata, data: { version: String(version) } };
  }

  beforeEach(() => {
    [server, reads, inUse, isActive, changes] = [new Map(), [], [NAME], true, []];
    [hangs, ended, errors, others] = [false, undefined, [], {}];
    client = {
      with: ({ signal }: RequestTraits) => {
        ended ??= signal;
        return client;
      },
      get: async (_: unknown, { name }: ObjectName) => {
        reads.push(name);
        if (hangs === true || hangs === name)
          await new Promise((_, reject) =>
            ended?.addEventListener("abort", () => reject(new Error("the read was ended"))),
          );
        return server.get(name);
      },
    } as unknown as KubernetesClient;
    polled = polledIn({ periodMs: 20 });
  });
  afterEach(() => polled.stop());

  function polledIn({ periodMs, mostKept }: { readonly periodMs?: number; readonly mostKept?: number }) {
    const store = new Store<UsedFacts>({
      client,
      factsOf: (object) =>
        object.metadata.labels?.["ours"] === "yes" ? usedFactsOf(object, false) : undefined,
      kept: withoutManagedFields,
      onChange: ({ source, after }) => {
        if (source !== "initial") changes.push(after?.resourceVersion);
      },
      mostKept,
    });
    return new PolledObjects({
      client,
      stores: new Map([["credentials", store]]),
      namesOf: () => new Map(Object.entries({ shop: inUse, ...others })),
      isActive: () => isActive,
      onError: ({ message }) => void errors.push(message),
      periodMs,
    });
  }

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

  it("gives a Secret as it is after a restore of etcd, at an earlier version", async () => {
    polled.start();
    server.set("db", secret(5));
    assert.ok(await polled.get("credentials", NAME));
    server.set("db", secret(2));
    await eventually(() => assert.deepEqual(changes, ["2"]));
    assert.equal((await polled.get("credentials", NAME))?.metadata.resourceVersion, "2");
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

  it("reads those of one namespace in time, however long those of another one take, and each once in a period", async () => {
    hangs = "slow";
    others = { other: [{ ...NAME, name: "slow" }], third: [NAME] };
    polled.start();
    const times = (name: string) => reads.filter((each) => each === name).length;
    await eventually(() => assert.ok(times("slow") === 1 && times("db") >= 5, String(reads)));
    const [before, since] = [times("db"), performance.now()];
    await eventually(() => assert.ok(times("db") >= before + 5));
    assert.ok(performance.now() - since >= 4 * 18, "it is read for each namespace that uses it");
  });

  it("is stopped at once while a read gets no answer, and says nothing of that", async () => {
    hangs = true;
    polled.start();
    await eventually(() => assert.equal(reads.length, 1));
    await polled.stop();
    assert.deepEqual(errors, []);
  });

  it("keeps the newest of very long ones, and reads the others when they are needed", async () => {
    const names = ["a", "b", "c"].map((name) => ({ ...NAME, name }));
    for (const { name } of names) {
      const { metadata, ...others } = secret(1);
      server.set(name, { ...others, metadata: { ...metadata, name }, data: { key: "x".repeat(1_000) } });
    }
    const bounded = polledIn({ mostKept: 2_500 });
    for (const name of [...names, ...names.toReversed()]) {
      const object = await bounded.get("credentials", name);
      assert.deepEqual(object?.["data"], { key: "x".repeat(1_000) });
    }
    assert.deepEqual(reads, ["a", "b", "c", "a"]);
    // What does not exist takes no room.
    const none = { ...NAME, name: "none" };
    assert.deepEqual(
      await Promise.all([bounded.get("credentials", none), bounded.get("credentials", none)]),
      [undefined, undefined],
    );
    // Nor is its absence kept: a handler that is told so may delete children.
    server.set("none", { ...secret(2), metadata: { ...secret(2).metadata, name: "none" } });
    assert.ok(await bounded.get("credentials", none));
    assert.deepEqual(reads.slice(4), ["none", "none"]);
    assert.deepEqual(changes, ["2"]);
  });
});
