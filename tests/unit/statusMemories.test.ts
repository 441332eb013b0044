import assert from "node:assert/strict";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import type { StatusChange } from "../../runtime/status/composeStatus";
import { Statuses } from "../../runtime/status/statuses";

const NAME = { namespace: "shop", name: "sessions", uid: "uid-1" };

describe("Statuses", () => {
  let object: KubernetesObject | undefined;
  /** The answers that the API server owes. */
  let owed: (() => void)[];
  const client = new KubernetesClient({ server: "https://127.0.0.1:1" });
  after(() => client.close());
  beforeEach(() => {
    owed = [];
    object = {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { ...NAME, resourceVersion: "1" },
      status: {},
    };
  });

  const statuses = () =>
    new Statuses({
      read: async () => object,
      learn: (newest) => {
        object = newest;
      },
      invalidate: () => assert.fail("it is there"),
      writer: {
        wouldChange: (_, { fields }) => fields?.["nothing"] === undefined,
        write: async (_, newest, { fields = {}, verdict }) => {
          await new Promise<void>((resolve) => owed.push(resolve));
          const before = newest["status"] as object;
          return {
            ...newest,
            status: { ...before, ...fields, ...(verdict && { told: verdict.generation }) },
          };
        },
      },
    });

  /** Lets the API server answer, one request after another, until none is left. */
  async function answerAll(writes: readonly Promise<unknown>[]): Promise<void> {
    let done = false;
    const all = Promise.all(writes).finally(() => {
      done = true;
    });
    while (!done) {
      await new Promise((resolve) => setImmediate(resolve));
      assert.ok(owed.length <= 1, "two writes to one status at once");
      owed.shift()?.();
    }
    await all;
  }

  it("writes one change after another, each onto what the one before it wrote", async () => {
    const all = statuses();
    const verdict: StatusChange = { verdict: { verdict: { kind: "ready" }, generation: 3 } };
    await answerAll([
      all.write(client, NAME, { fields: { size: 1 } }),
      all.write(client, NAME, verdict),
      all.write(client, NAME, { fields: { size: 2 } }),
    ]);
    assert.deepEqual(object?.["status"], { size: 2, told: 3 });
  });

  it("goes on after a write that failed", async () => {
    const all = new Statuses({
      read: async () => object,
      learn: () => {},
      invalidate: () => {},
      writer: { wouldChange: () => true, write: () => Promise.reject(new Error("refused")) },
    });
    await assert.rejects(all.write(client, NAME, {}), /refused/);
    await assert.rejects(all.write(client, NAME, {}), /refused/);
  });

  it("writes what goes along only if the change itself is written", async () => {
    const along: StatusChange = { verdict: { verdict: { kind: "ready" }, generation: 7 } };
    await answerAll([statuses().write(client, NAME, { fields: { nothing: true } }, along)]);
    assert.deepEqual(object?.["status"], {});
    await answerAll([statuses().write(client, NAME, { fields: { size: 1 } }, along)]);
    assert.deepEqual(object?.["status"], { size: 1, told: 7 });
  });

  it("says so if the object went while its status was written, and has it read again", async () => {
    const invalidated: object[] = [];
    const all = new Statuses({
      read: async () => object,
      learn: () => assert.fail("it is gone"),
      invalidate: (name) => void invalidated.push(name),
      writer: { wouldChange: () => true, write: async () => undefined },
    });
    assert.equal(await all.write(client, NAME, { fields: { size: 1 } }), undefined);
    assert.deepEqual(invalidated, [{ namespace: "shop", name: "sessions" }]);
  });

  it("writes nothing for another object of that name", async () => {
    assert.equal(
      await statuses().write(client, { ...NAME, uid: "uid-2" }, { fields: { size: 1 } }),
      undefined,
    );
    assert.deepEqual(object?.["status"], {});
  });
});
