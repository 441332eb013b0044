import { connect, createServer, type Server, type Socket } from "node:net";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";

/** Both ends of one connection that goes through a {@link TcpProxy}. */
interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
}

/**
 * A bad network between an engine and its API server. TLS passes through it, so that it knows nothing of what it
 * carries, and can only do what networks do: cut connections, be silent, lose answers.
 */
export class TcpProxy {
  private readonly pairs = new Set<Pair>();
  private silent = false;
  private losing = false;

  private constructor(
    private readonly listener: Server,
    private readonly target: URL,
  ) {
    listener.on("connection", (client) => this.accept(client));
  }

  /** Starts a proxy to the API server of a connection. */
  static async start({ server }: ClusterConnection): Promise<TcpProxy> {
    const listener = createServer();
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    return new TcpProxy(listener, new URL(server));
  }

  /** The same connection, through this proxy. */
  through(connection: ClusterConnection): ClusterConnection {
    const address = this.listener.address();
    if (address === null || typeof address === "string") throw new Error("the proxy does not listen");
    return { ...connection, server: `https://127.0.0.1:${address.port}` };
  }

  /** Connections that go through it now. */
  get connections(): number {
    return this.pairs.size;
  }

  /** Cuts every connection. New ones are accepted at once. */
  cut(): void {
    for (const { client, upstream } of this.pairs) {
      // Node loses the handle of a socket that is to be reset while it is being shut down (EINVAL), and never closes it.
      if (client.writableEnded) client.destroy();
      else client.resetAndDestroy();
      upstream.destroy();
    }
    this.pairs.clear();
  }

  /** Carries nothing any more, and cuts nothing: neither side is told. */
  hold(): void {
    this.silent = true;
    for (const pair of this.pairs) pauseBoth(pair);
  }

  /** Ends {@link hold} and {@link loseAnswers}. What was on its way is not carried any more: it is cut. */
  release(): void {
    this.silent = false;
    this.losing = false;
    this.cut();
  }

  /** From now on the API server gets every request, and its answers are lost. */
  loseAnswers(): void {
    this.losing = true;
  }

  /** Ends it, and all its connections. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.listener.close(() => resolve()));
    this.cut();
    await closed;
  }

  private accept(client: Socket): void {
    const upstream = connect(Number(this.target.port), this.target.hostname);
    const pair = { client, upstream };
    this.pairs.add(pair);
    client.on("data", (chunk) => upstream.write(chunk));
    upstream.on("data", (chunk) => {
      if (!this.losing) client.write(chunk);
    });
    for (const [end, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      // An error is always followed by "close".
      end.on("error", () => {});
      end.on("close", () => {
        this.pairs.delete(pair);
        other.destroy();
      });
    }
    if (this.silent) pauseBoth(pair);
  }
}

function pauseBoth({ client, upstream }: Pair): void {
  client.pause();
  upstream.pause();
}
