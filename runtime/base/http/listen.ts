import { once } from "node:events";
import { createServer, type RequestListener, type ServerOptions } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** Where a server listens. */
export interface ListenAddress {
  /** @default every address of this machine, of IPv4 and, if there is one, IPv6 */
  readonly host?: string;
  /** 0: any free port. */
  readonly port: number;
}

/** A plain HTTP server that listens. */
export interface HttpListener {
  readonly port: number;
  /** The server no longer keeps the process alive by itself. */
  unref(): void;
  /** Accepts no further connection. Resolves when the running requests have been answered, or were cut off after 2 s. */
  close(): Promise<void>;
}

/**
 * Connections at once. With the 64 KiB that a request may have, all of them together stay far below a runner's memory, no
 * matter who may reach its port. A Sensor, a kubelet and Prometheus need a handful.
 */
const LIMITS = { most: 512, mostOfAddress: 64 };
/** A client that sends slowly, or nothing at all, is cut off after this time, in milliseconds. */
const PATIENCE = { headersTimeout: 3_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 };

/** How long a closing server waits for its requests. A client that sends slowly must not hold it up. */
const CLOSE_GRACE_MS = 2_000;

/**
 * Listens for HTTP. The server bounds the memory and connections that all clients together can use, and no client can keep others
 * out: see {@link Connections}.
 * @param options further options of the server, which override the default timeouts
 * @throws Error if the address cannot be had
 */
export async function listen(
  { host, port }: ListenAddress,
  onRequest: RequestListener,
  options: ServerOptions = {},
): Promise<HttpListener> {
  let closing = false;
  const connections = new Connections(LIMITS);
  const server = createServer({ ...PATIENCE, ...options }, (request, response) => {
    response.once("close", connections.begin(request.socket));
    // A kept-alive connection would keep a closing server open.
    response.once("close", () => {
      if (closing) setImmediate(() => server.closeIdleConnections());
    });
    onRequest(request, response);
  });
  server.on("connection", (socket) => connections.add(socket));
  server.listen(port, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    unref: () => void server.unref(),
    close: () => {
      closing = true;
      return new Promise((resolve) => {
        const cutOff = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
        server.close(() => {
          clearTimeout(cutOff);
          resolve();
        });
        server.closeIdleConnections();
      });
    },
  };
}

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
 * The connections of a server, bounded so that no client can keep others out by holding connections open. If there are too many,
 * the connection that was used longest ago is closed. A client with more than its share loses one of its own connections. A client
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
