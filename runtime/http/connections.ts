import type { Socket } from "node:net";

/** How many connections there may be. */
export interface ConnectionLimits {
  readonly most: number;
  /** From one remote address. */
  readonly mostOfAddress: number;
}

interface Connection {
  readonly address: string;
  /** Requests that are being answered. */
  working: number;
}

/**
 * The connections of a server, bounded so that nobody can keep others out by holding connections open. If there are too many, the
 * connection that was used longest ago is closed. A client with more than its share loses one of its own connections. A client
 * that sends its request as soon as it is connected gets an answer, no matter how many connections others have open.
 */
export class Connections {
  /** In the order of their last use, the last at the end. */
  private readonly open = new Map<Socket, Connection>();

  constructor(private readonly limits: ConnectionLimits) {}

  /** Takes a new connection, and closes another one if there are too many. */
  add(socket: Socket): void {
    const { most, mostOfAddress } = this.limits;
    const address = socket.remoteAddress ?? "";
    this.open.set(socket, { address, working: 0 });
    socket.once("close", () => this.open.delete(socket));
    const own = [...this.open].filter(([, connection]) => connection.address === address);
    if (own.length > mostOfAddress) this.closeOneOf(own);
    else if (this.open.size > most) this.closeOneOf([...this.open]);
  }

  /** A request on the connection has begun. @returns a function to call when the request has been answered, or broken off */
  begin(socket: Socket): () => void {
    const connection = this.open.get(socket);
    if (!connection) return () => {};
    connection.working++;
    return () => {
      connection.working--;
      if (!this.open.delete(socket)) return;
      this.open.set(socket, connection);
    };
  }

  /** Closes the connection that was used longest ago, or the newest one if all of them are in use. */
  private closeOneOf(connections: readonly (readonly [Socket, Connection])[]): void {
    const idle = connections.find(([, { working }]) => working === 0) ?? connections.at(-1);
    if (!idle) return;
    const [socket] = idle;
    this.open.delete(socket);
    socket.destroy();
  }
}
