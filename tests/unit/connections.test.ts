import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { Connections } from "../../runtime/base/http/listen";

/** A connection that remembers whether it was closed. */
class FakeSocket extends EventEmitter {
  isClosed = false;
  constructor(readonly remoteAddress: string) {
    super();
  }
  destroy(): void {
    this.isClosed = true;
    this.emit("close");
  }
}

describe("Connections", () => {
  const made: FakeSocket[] = [];
  let connections: Connections;
  beforeEach(() => {
    made.length = 0;
    connections = new Connections({ most: 4, mostOfAddress: 2 });
  });

  function connect(address: string): FakeSocket {
    const socket = new FakeSocket(address);
    made.push(socket);
    connections.add(socket as unknown as Socket);
    return socket;
  }
  const begin = (socket: FakeSocket) => connections.begin(socket as unknown as Socket);
  const closed = () => made.flatMap(({ isClosed }, at) => (isClosed ? [at] : []));

  it("close the one that was used longest ago if there are too many", () => {
    const [first] = ["a", "b", "c", "d"].map(connect);
    assert.ok(first);
    begin(first)();
    connect("e");
    assert.deepEqual(closed(), [1]);
    connect("f");
    assert.deepEqual(closed(), [1, 2]);
  });

  it("spare one whose request is being answered, and close the newest if all are", () => {
    const answered = ["a", "b", "c", "d"].map(connect).map(begin);
    connect("e");
    assert.deepEqual(closed(), [4]);
    answered[2]?.();
    connect("f");
    assert.deepEqual(closed(), [2, 4]);
  });

  it("close one of a client that has more than its share, and forget those that have gone", () => {
    connect("a");
    const two = ["b", "b"].map(connect);
    connect("b");
    assert.deepEqual(closed(), [1]);
    two[1]?.destroy();
    connect("c");
    connect("d");
    assert.deepEqual(closed(), [1, 2]);
  });
});
