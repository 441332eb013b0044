import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { JsonObject } from "../../../runtime/base/objects";
import { assertChild, type Form, readyIs } from "./forms";
import { session } from "./hooks";
import { tell, waitFor } from "./progress";

const OBJECTS = 7;
/** Beyond it handlers begin to misbehave. */
const MOST = 40;
/** Each deletes every object in its turn, since 7 is prime. */
const DELETES_EACH = 5;
const CONVERGED_MS = 300_000;
/** Between two changes: a resident operator handles one at once, the other form needs a pod for it. */
const PAUSE_MS = { resident: 500, pod: 10_000 } as const;

/**
 * A client that makes, changes and deletes objects without end, and knows what must exist when all is quiet. The order of the
 * changes is the same in each run.
 */
export class Writer {
  /** The number of each object that there shall be, by name; undefined for one that was deleted. */
  private readonly wanted = new Map<string, number | undefined>();
  private changes = 0;
  private isStopped = false;
  private failure: unknown;
  private work: Promise<void> | undefined;

  constructor(private readonly form: Form) {}

  start(): void {
    const { operator } = this.form;
    assert.ok(!this.work, `who writes for ${operator} has begun already`);
    this.isStopped = false;
    this.work = this.write().catch((error: unknown) => {
      this.failure = error;
    });
  }

  /** Waits until this many further changes are made. */
  async further(changes: number): Promise<void> {
    const goal = this.changes + changes;
    await waitFor(`${changes} changes for ${this.form.operator}`, () => {
      this.assertWell();
      assert.ok(this.changes >= goal, `${goal - this.changes} are missing`);
    });
  }

  /** Ends it, wherever it is. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.work;
    this.work = undefined;
  }

  /**
   * Asserts that all has come as it was written: each object observed at its newest generation with its own child, and
   * of what was deleted nothing.
   */
  async assertAllHandled(): Promise<void> {
    this.assertWell();
    const { form } = this;
    for (const [name, count] of this.wanted) {
      if (count === undefined) continue;
      await readyIs(form, name, { status: "True", reason: "Reconciled" }, CONVERGED_MS);
      const { metadata } = await session().api.get(form.object(name, count));
      const child = await assertChild(form, name, count);
      assert.deepEqual(
        child.metadata.ownerReferences?.map(({ uid }) => uid),
        [metadata.uid],
      );
    }
    await waitFor(`what was deleted of ${form.operator} to be gone`, async () => {
      for (const name of this.namesOfDeleted()) {
        await session().api.assertGone(form.object(name, 0));
        await session().api.assertGone(form.child(name));
      }
    });
    tell(`${this.changes} changes for ${form.operator}, all of them handled`);
  }

  /** Deletes all that it made. */
  async clear(): Promise<void> {
    for (const [name, count] of this.wanted) {
      if (count !== undefined) await session().api.delete(this.form.object(name, count));
    }
    for (const name of this.wanted.keys()) this.wanted.set(name, undefined);
  }

  private async write(): Promise<void> {
    for (; !this.isStopped; this.changes++) {
      const name = `${this.form.operator}-${this.changes % OBJECTS}`;
      await this.change(name, this.changes % MOST, this.changes % DELETES_EACH === 0);
      await pause(PAUSE_MS[this.form.execution]);
    }
  }

  private async change(name: string, count: number, deletes: boolean): Promise<void> {
    const object = this.form.object(name, count);
    const isThere = this.wanted.get(name) !== undefined;
    if (!isThere) await session().api.create(object);
    else if (deletes) await session().api.delete(object);
    else await session().api.patch(object, { spec: object["spec"] as JsonObject });
    this.wanted.set(name, isThere && deletes ? undefined : count);
  }

  private namesOfDeleted(): string[] {
    return [...this.wanted].flatMap(([name, count]) => (count === undefined ? [name] : []));
  }

  private assertWell(): void {
    if (this.failure) throw new Error("who writes was refused", { cause: this.failure });
  }
}
