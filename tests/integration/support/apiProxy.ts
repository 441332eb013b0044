import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { Agent, createServer, request, type Server } from "node:https";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";

/** A request on its way to the API server. */
export interface ProxiedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** The length of its body, in bytes. */
  readonly length: number;
}

/** What the proxy answers in the API server's place. */
export interface Refusal {
  readonly code: number;
  readonly retryAfterSeconds?: number;
  /** @default what the code means, in plain text */
  readonly body?: string;
}

/** Whether a request watches. */
export function isWatch({ path }: ProxiedRequest): boolean {
  return path.includes("watch=true");
}

/** Whether a request is about all objects of a kind, or about those in a namespace. @param plural of the kind. @default any */
export function isOfKind({ path }: ProxiedRequest, plural = "[^/]+"): boolean {
  const collection = new RegExp(`^/(api|apis/[^/]+)/[^/]+(/namespaces/[^/]+)?/${plural}$`);
  return collection.test(path.split("?")[0] ?? "");
}

/** Whether a request lists objects. @param plural of their kind. @default any */
export function isListOf(request: ProxiedRequest, plural?: string): boolean {
  return request.method === "GET" && isOfKind(request, plural) && !isWatch(request);
}

/** What a cache before the API server shows while it is behind. */
interface Past {
  /** The version that its lists have. */
  readonly version: string;
  /** Whether it answers a request. */
  readonly answers: (request: ProxiedRequest) => boolean;
  readonly ended: Promise<void>;
  readonly end: () => void;
}

/**
 * An API server that is busy, or whose load balancer is: it understands the requests that it carries, so that it can
 * refuse, delay and count them one by one. It shows the API server's own certificate.
 */
export class ApiProxy {
  /** Every request since the start. */
  readonly requests: ProxiedRequest[] = [];
  /**
   * What happens to a request before the API server gets it: it may be kept waiting, and is refused where this gives a
   * refusal. "cut": its connection is closed.
   */
  before: (request: ProxiedRequest) => Promise<Refusal | "cut" | undefined> | Refusal | "cut" | undefined =
    () => undefined;
  /** What happens to an answer of the API server's: it may be kept waiting. */
  after: (request: ProxiedRequest) => Promise<void> | void = () => {};

  private past: Past | undefined;
  private readonly watches = new Set<ServerResponse>();

  private constructor(
    private readonly listener: Server,
    private readonly target: URL,
    private readonly agent: Agent,
  ) {
    listener.on("request", (incoming, response) => void this.carry(incoming, response));
  }

  /** @param admin the control plane's own connection: its certificate is the API server's too */
  static async start(admin: ClusterConnection): Promise<ApiProxy> {
    const { server, certificateAuthority, certificate, privateKey } = admin;
    const listener = createServer({ cert: certificate, key: privateKey });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const agent = new Agent({ keepAlive: true, ...(certificateAuthority && { ca: certificateAuthority }) });
    return new ApiProxy(listener, new URL(server), agent);
  }

  /** The same connection, through this proxy. */
  through(connection: ClusterConnection): ClusterConnection {
    const address = this.listener.address();
    if (address === null || typeof address === "string") throw new Error("the proxy does not listen");
    return { ...connection, server: `https://127.0.0.1:${address.port}` };
  }

  /** Ends every watch, as a network does. */
  cutWatches(): void {
    for (const response of this.watches) response.destroy();
  }

  /**
   * From now on lists show the cluster as it was at a version, as a cache does that is behind, and watches show nothing.
   * @param answers which requests such a cache answers. @default all lists and watches
   */
  goBack(version: string, answers: Past["answers"] = () => true): void {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.past = { version, answers, ended, end };
    this.cutWatches();
  }

  /** The cache shows the present again, first to those that watch. */
  goOn(): void {
    this.past?.end();
    this.past = undefined;
  }

  /** Ends it, and all its connections. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.listener.close(() => resolve()));
    this.listener.closeAllConnections();
    this.agent.destroy();
    await closed;
  }

  private async carry(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url: path = "/", headers } = incoming;
    const proxied = { method, path, length: Number(headers["content-length"] ?? 0) };
    this.requests.push(proxied);
    const refusal = await this.before(proxied);
    // The client may have given up a request that was kept waiting.
    if (response.destroyed) return;
    if (refusal === "cut") return void response.destroy();
    if (refusal) return refuse(response, refusal);
    const { hostname, port } = this.target;
    const target = { hostname, port, method, path: this.pathOf(proxied), headers, agent: this.agent };
    const outgoing = request(target, async (answer) => {
      await this.after(proxied);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      // A watch that has begun shows itself before its first event.
      response.flushHeaders();
      if (isWatch(proxied)) this.watches.add(response);
      if (isWatch(proxied) && this.past?.answers(proxied)) await this.past.ended;
      answer.pipe(response);
      answer.on("error", () => response.destroy());
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => {
      this.watches.delete(response);
      outgoing.destroy();
    });
    incoming.pipe(outgoing);
  }

  /** Where the API server has the answer. etcd still has each version of the last minutes. */
  private pathOf(proxied: ProxiedRequest): string {
    const { path } = proxied;
    // The token for a further page has the version already.
    if (!this.past?.answers(proxied) || !isListOf(proxied) || path.includes("continue=")) return path;
    return `${path}&resourceVersion=${this.past.version}&resourceVersionMatch=Exact`;
  }
}

/** As the API server does it where it is not its JSON that fails: in plain text. */
function refuse(response: ServerResponse, { code, retryAfterSeconds, body }: Refusal): void {
  response.writeHead(code, {
    "content-type": "text/plain",
    ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
  });
  response.end(body ?? `${STATUS_CODES[code]}, please try again later.\n`);
}
