import assert from "node:assert/strict";
import { LEASE_MS, LeaseWorld } from "./support/leaseWorld";

const MARK = "argosy.dev/asked-by";

describe("the mark of a program on its Lease", () => {
  let world: LeaseWorld;
  beforeEach(() => {
    world = new LeaseWorld();
  });

  const annotations = () => world.lease?.metadata.annotations ?? {};
  /** A process of this program leads, and the one before has ended. @returns what the mark told it to except */
  async function exceptionsOf(program: string | undefined) {
    const process = await world.leader("next", program);
    const { exceptions } = process.leadership;
    await end(process);
    return exceptions;
  }
  async function end({ leadership }: { leadership: { stop(): Promise<void> } }): Promise<void> {
    let isOver = false;
    void leadership.stop().then(() => {
      isOver = true;
    });
    await world.until(() => isOver);
  }
  /** A process of this program has asked about every object, and ends. */
  async function asked(program: string, exceptions: readonly string[] = []): Promise<void> {
    const process = await world.leader("first", program);
    const marking = process.leadership.markAsked(exceptions);
    await world.pass(LEASE_MS);
    await marking;
    await end(process);
  }
  function edit(change: (mark: string) => string | undefined): void {
    assert.ok(world.lease);
    const { [MARK]: mark = "", ...others } = annotations();
    const now = change(mark);
    const edited = now === undefined ? others : { ...others, [MARK]: now };
    world.store({ ...world.lease, metadata: { ...world.lease.metadata, annotations: edited } });
  }

  it("is read by the next process of the same program, with its exceptions", async () => {
    await asked("one");
    assert.deepEqual(await exceptionsOf("one"), []);
    await asked("one", ["a", "b"]);
    assert.deepEqual(await exceptionsOf("one"), ["a", "b"]);
    assert.deepEqual(await exceptionsOf("one"), ["a", "b"]);
  });

  it("says nothing to another program, and nothing to the same one after that", async () => {
    await asked("one");
    assert.equal(await exceptionsOf("two"), undefined);
    assert.equal(annotations()[MARK], "");
    assert.equal(await exceptionsOf("one"), undefined);
  });

  it("is gone after a process whose program is unknown", async () => {
    await asked("one");
    assert.equal(await exceptionsOf(undefined), undefined);
    assert.ok(!(MARK in annotations()));
    assert.equal(await exceptionsOf("one"), undefined);
  });

  it("is not written before every object was asked about", async () => {
    await end(await world.leader("first", "one"));
    assert.equal(await exceptionsOf("one"), undefined);
  });

  it("is no mark of any program once it was edited by hand", async () => {
    const edits: Record<string, (mark: string) => string | undefined> = {
      "another text": () => "one",
      nothing: () => undefined,
      "an empty text": () => "",
      "one exception less": (mark) => mark.replace(" b", ""),
      "one exception more": (mark) => `${mark} c`,
      "no exceptions": (mark) => mark.split(" ")[0],
      "a word in front": (mark) => `one ${mark}`,
    };
    for (const [what, change] of Object.entries(edits)) {
      await asked("one", ["a", "b"]);
      edit(change);
      assert.equal(await exceptionsOf("one"), undefined, what);
    }
  });

  it("costs the term nothing if a user has removed the annotations", async () => {
    const process = await world.leader("first", "one");
    edit(() => undefined);
    assert.ok(world.lease);
    const { annotations: _, ...metadata } = world.lease.metadata;
    world.store({ ...world.lease, metadata });
    const marking = process.leadership.markAsked([]);
    await world.pass(LEASE_MS);
    await marking;
    process.term?.assert();
    await end(process);
    assert.equal(await exceptionsOf("one"), undefined);
  });

  it("writes no annotation for an operator whose handler is always asked", async () => {
    const process = await world.leader("first");
    const marking = process.leadership.markAsked([]);
    await world.pass(LEASE_MS);
    await marking;
    assert.deepEqual(annotations(), {});
  });
});
