import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { PeerCertificate, TLSSocket } from "node:tls";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import type { ApiStatus } from "../../../runtime/kubernetes/errors";
import { type Identity, makeIdentity } from "./certificate";

/** A request as the server got it. */
export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The decoded body; undefined where there was none. */
  readonly body: unknown;
  /** Which of the server's connections it came by, counted from 1. */
  readonly connection: number;
  /** The common name of the client's certificate, where it gave one. */
  readonly client: string | undefined;
}

/** Answers one request. */
export type Answer = (call: ApiCall, response: ServerResponse) => void | Promise<void>;

/** An HTTPS server on a free port whose answers each test decides, and which remembers what it was asked. */
export class TestApiServer {
  readonly calls: ApiCall[] = [];
  answer: Answer = (_, response) => json(response, {});
  private readonly sockets = new Map<Socket, number>();
  private readonly clients: KubernetesClient[] = [];
  private accepted = 0;

  private constructor(
    private readonly server: Server,
    private readonly identity: Identity,
  ) {
    server.on("secureConnection", (socket: TLSSocket) => {
      this.sockets.set(socket, ++this.accepted);
      socket.on("close", () => this.sockets.delete(socket));
      socket.on("error", () => {});
    });
    server.on("request", (request, response) => void this.receive(request, response));
  }

  /** @param trustedClient - a self-signed client certificate to take as valid, in PEM */
  static async start(answer?: Answer, trustedClient?: string): Promise<TestApiServer> {
    const api = TestApiServer.create(trustedClient);
    if (answer) api.answer = answer;
    await api.listen();
    return api;
  }

  /** One that does not listen yet. */
  static create(trustedClient?: string): TestApiServer {
    const identity = makeIdentity("api.test");
    const server = createServer({
      key: identity.key,
      cert: identity.certificate,
      requestCert: true,
      rejectUnauthorized: false,
      keepAliveTimeout: 60_000,
      ...(trustedClient && { ca: trustedClient }),
    });
    return new TestApiServer(server, identity);
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
  }

  /** How to reach it, and as whom. */
  connection(more: Partial<ClusterConnection> = {}): ClusterConnection {
    const { port } = this.server.address() as AddressInfo;
    return { server: `https://127.0.0.1:${port}`, certificateAuthority: this.identity.certificate, ...more };
  }

  /** The text of a kubeconfig for it. */
  kubeconfig(): string {
    const { server, certificateAuthority } = this.connection();
    const authority = Buffer.from(String(certificateAuthority)).toString("base64");
    return JSON.stringify({
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server, "certificate-authority-data": authority } }],
      users: [{ name: "u", user: {} }],
    });
  }

  /** A client of it, which {@link stop} closes. */
  client(): KubernetesClient {
    const client = new KubernetesClient(this.connection());
    this.clients.push(client);
    return client;
  }

  /** Connections that are open now. */
  get openConnections(): number {
    return this.sockets.size;
  }

  /** Cuts every connection, as a network or a server that goes down does. */
  cut(): void {
    for (const socket of this.sockets.keys()) socket.destroy();
  }

  /** Ends the server, its clients and every connection. */
  async stop(): Promise<void> {
    for (const client of this.clients) client.close();
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const url = new URL(request.url ?? "/", "https://api.test");
    const socket = request.socket as TLSSocket;
    const call: ApiCall = {
      method: request.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: text === "" ? undefined : JSON.parse(text),
      connection: this.sockets.get(socket) ?? 0,
      client: socket.authorized ? clientName(socket) : undefined,
    };
    this.calls.push(call);
    await this.answer(call, response);
  }
}

/** One for the tests of a suite. Each test begins without calls, and with this answer. */
export function useApiServer(answer: Answer = (_, response) => json(response, {})): TestApiServer {
  const api = TestApiServer.create();
  before(() => api.listen());
  beforeEach(() => {
    api.calls.length = 0;
    api.answer = answer;
  });
  after(() => api.stop());
  return api;
}

function clientName(socket: TLSSocket): string | undefined {
  // A session that is taken up again may come without a certificate, and with none there is no subject.
  const { subject } = socket.getPeerCertificate() as Partial<PeerCertificate>;
  return subject && String(subject.CN);
}

/** Answers with a value as JSON. */
export function json(
  response: ServerResponse,
  body: unknown,
  code = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(code, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** Refuses as the API server does, with a Status object. */
export function refuse(response: ServerResponse, code: number, status: ApiStatus = {}): void {
  const named = code === 404 && { details: { name: "missing" } };
  json(response, { kind: "Status", apiVersion: "v1", status: "Failure", code, ...named, ...status }, code);
}

/** Sends one event of a watch, without ending it. */
export function sendEvent(response: ServerResponse, type: string, object: unknown): void {
  if (!response.headersSent) response.writeHead(200, { "content-type": "application/json" });
  response.write(`${JSON.stringify({ type, object })}\n`);
}
