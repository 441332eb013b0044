import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { StatusChange, StatusVerdict } from "../../runtime/remember/composeStatus";
import { StatusMemories, type StatusWriter } from "../../runtime/remember/statusMemories";

const NAME = { namespace: "shop", name: "sessions", uid: "uid-1" };

describe("StatusMemories", () => {
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
    new StatusMemories(
      {
        write: async (_, newest, { fields = {}, ...change }, along) => {
          const verdict = change.verdict ?? along;
          await new Promise<void>((resolve) => owed.push(resolve));
          const before = newest["status"] as object;
          return {
            ...newest,
            status: { ...before, ...fields, ...(verdict && { told: verdict.generation }) },
          };
        },
      } as Partial<StatusWriter> as StatusWriter,
      {
        read: async () => object,
        learn: (newest) => {
          object = newest;
        },
        invalidate: () => assert.fail("it exists"),
      },
    );

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
    const all = new StatusMemories(
      { write: async () => Promise.reject(new Error("refused")) } as unknown as StatusWriter,
      {
        read: async () => object,
        learn: () => {},
        invalidate: () => {},
      },
    );
    await assert.rejects(all.write(client, NAME, {}), /refused/);
    await assert.rejects(all.write(client, NAME, {}), /refused/);
  });

  it("writes no verdict that went along with a change already, and each other one", async () => {
    const along: StatusVerdict = { verdict: { kind: "ready" }, generation: 7 };
    const all = statuses();
    await answerAll([all.write(client, NAME, { fields: { size: 1 } }, along)]);
    const written = object;
    assert.deepEqual(written?.["status"], { size: 1, told: 7 });
    assert.equal(await all.write(client, NAME, { verdict: { ...along } }), written);
    await answerAll([all.write(client, NAME, { verdict: { ...along, generation: 8 } })]);
    assert.deepEqual(object?.["status"], { size: 1, told: 8 });
    await answerAll([all.write(client, NAME, { verdict: along })]);
    assert.deepEqual(object?.["status"], { size: 1, told: 7 });
  });

  it("says so if the object went while its status was written, and has it read again", async () => {
    const invalidated: object[] = [];
    const all = new StatusMemories({ write: async () => undefined } as unknown as StatusWriter, {
      read: async () => object,
      learn: () => assert.fail("it is gone"),
      invalidate: (name) => void invalidated.push(name),
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
