import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { localHandler } from "../../cli/handler/localHandler";
import { loadOperator } from "../../definition/loadOperator";
import { type HandlerAnswer, type HandlerEvent, questionAbout } from "../../runtime/handler/contract";
import { HandlerPool } from "../../runtime/handler/handlerPool";
import { askHandler } from "../../runtime/reconcile/ask";
import { failureOf } from "./support/failures";

const EXAMPLE = path.resolve(__dirname, "../../examples/03-finalizer");

/** What goes wrong with the next request of a method. */
interface Fault {
  readonly method: "PUT" | "DELETE";
  readonly status?: number;
  readonly hangUp?: boolean;
}

describe("the example finalizer", function () {
  this.timeout(60_000);
  let provider: ChildProcess;
  let address: string;
  let pool: HandlerPool;

  before(async () => {
    const env = { ...process.env, PORT: "0" };
    const stdio = ["ignore", "pipe", "ignore"] as const;
    provider = spawn(process.execPath, [path.join(EXAMPLE, "fixtures/provider.mjs")], {
      env,
      stdio: [...stdio],
    });
    assert.ok(provider.stdout);
    address = String((await once(provider.stdout, "data"))[0]).trim();
    const transport = localHandler(loadOperator(EXAMPLE), { PROVIDER: address });
    pool = new HandlerPool({ transport, timeoutMs: 30_000 });
  });
  beforeEach(async () => {
    await faults();
    for (const uid of ["u1", "u2"]) await fetch(`${address}/mailboxes/${uid}`, { method: "DELETE" });
    assert.deepEqual(await mailboxes(), {});
  });
  after(async () => {
    await pool.close();
    provider.kill();
  });

  /** What the provider has. */
  async function mailboxes(): Promise<unknown> {
    return (await fetch(`${address}/mailboxes`)).json();
  }
  async function faults(...all: Fault[]): Promise<void> {
    await fetch(`${address}/faults`, { method: "POST", body: JSON.stringify(all) });
  }
  async function ask(event: HandlerEvent, { uid = "u1", megabytes = 500, dryRun = false } = {}) {
    const object = {
      apiVersion: "mail.example.com/v1",
      kind: "Mailbox",
      metadata: { name: "ada", namespace: "team-a", uid, resourceVersion: "1", generation: 1 },
      spec: { address: "ada@example.com", megabytes },
    };
    const question = questionAbout({
      event,
      object,
      children: [],
      attempt: 1,
      ...(dryRun && { dryRun }),
    });
    return (await askHandler<HandlerAnswer>(pool, question, () => undefined, true)).answer;
  }
  const ADA = { u1: { address: "ada@example.com", megabytes: 500 } };

  it("makes one mailbox, however often it is asked, and changes that one", async () => {
    assert.deepEqual(await ask("reconcile"), { children: [], status: { id: "u1" } });
    await ask("reconcile");
    assert.deepEqual(await mailboxes(), ADA);
    await ask("reconcile", { megabytes: 900 });
    assert.deepEqual(await mailboxes(), { u1: { address: "ada@example.com", megabytes: 900 } });
  });

  it("makes only one although the provider hung up after it made one", async () => {
    await faults({ method: "PUT", hangUp: true });
    const { message, permanent } = await failureOf(() => ask("reconcile"));
    assert.match(message, /^the provider cannot be reached: /);
    assert.notEqual(permanent, true);
    await ask("reconcile");
    assert.deepEqual(await mailboxes(), ADA);
  });

  it("tries again if the provider is at fault, and not if the object is", async () => {
    await faults({ method: "PUT", status: 500 });
    const { message, permanent } = await failureOf(() => ask("reconcile"));
    assert.deepEqual([message, permanent === true], ["the provider answered 500 to PUT", false]);
    await ask("reconcile");
    const taken = await failureOf(() => ask("reconcile", { uid: "u2" }));
    assert.deepEqual([taken.message, taken.permanent], ["the provider answered 409 to PUT", true]);
    assert.deepEqual(await mailboxes(), ADA);
  });

  it("deletes the mailbox, even if it is gone already or never existed", async () => {
    await ask("reconcile");
    assert.deepEqual(await ask("finalize"), { finalized: true });
    assert.deepEqual(await mailboxes(), {});
    assert.deepEqual(await ask("finalize"), { finalized: true });
    assert.deepEqual(await ask("finalize", { uid: "u2" }), { finalized: true });
  });

  it("does not let the object go as long as the provider does not delete", async () => {
    await ask("reconcile");
    await faults({ method: "DELETE", status: 500 });
    assert.equal((await failureOf(() => ask("finalize"))).message, "the provider answered 500 to DELETE");
    await faults({ method: "DELETE", hangUp: true });
    await failureOf(() => ask("finalize"));
    assert.deepEqual(await ask("finalize"), { finalized: true });
  });

  it("does nothing there if the answer is only looked at", async () => {
    assert.deepEqual(await ask("reconcile", { dryRun: true }), { children: [], status: { id: "u1" } });
    assert.deepEqual(await mailboxes(), {});
    await ask("reconcile");
    assert.deepEqual(await ask("finalize", { dryRun: true }), { finalized: true });
    assert.deepEqual(await mailboxes(), ADA);
  });

  // The last one: the provider does not come back.
  it("says that the provider is away", async () => {
    const ended = once(provider, "exit");
    provider.kill();
    await ended;
    for (const event of ["reconcile", "finalize"] as const) {
      const { message, permanent } = await failureOf(() => ask(event));
      assert.equal(message, "the provider cannot be reached: ECONNREFUSED");
      assert.notEqual(permanent, true);
    }
  });
});
