import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { type ConnectionOptions, createSecureContext, type SecureContext } from "node:tls";
import { writeJson } from "../base/json";
import type { ClusterConnection } from "./connection";
import { type ApiError, ApiUnreachableError, isApiError, retryAfterMs, settled } from "./errors";
import {
  AnswerTooLongError,
  type ApiAnswer,
  type ApiRequest,
  decode,
  readAll,
  requestText,
  toApiError,
} from "./exchange";
import { Gate, onAbort } from "./gate";

/** What {@link HttpTransport} reports of each finished request that was sent. */
export interface RequestReport {
  readonly method: ApiRequest["method"];
  /** HTTP status code. 0 if there was no answer. */
  readonly code: number;
}

/**
 * How long a connection may take. Linux tries for two minutes, always with the same one of the API servers behind an address,
 * even if that one is gone. A new connection may reach another server.
 */
const CONNECTION_TIMEOUT_MS = 10_000;
/** How long an answer may take to begin, and then to end. The API server itself ends a request after 60 s (`--request-timeout`). */
const ANSWER_TIMEOUT_MS = 65_000;
/** A watch gets a bookmark about every minute. A watch that is silent for this long is dead, whatever TCP says. */
const WATCH_SILENCE_MS = 120_000;
/** How often a request is repeated if the server asks for that (429 or 503 with Retry-After). */
const MOST_RETRIES = 4;
/**
 * The longest time that all waits between repetitions may take. A caller that would wait longer should release what it holds, so
 * it gets the error, which says how long to wait.
 */
const LONGEST_WAIT_MS = 5_000;
const JSON_TYPE = "application/json";

/** HTTP to one API server over Node's `https`: kept-alive connections, credentials, typed errors. */
export class HttpTransport {
  private readonly gate = new Gate();
  /** When the API server was last not reached, on the monotonic clock. */
  private awayAt = Number.NEGATIVE_INFINITY;
  private readonly agent: Agent;
  /** For the lease: its renewal does not wait for the connection of another request. */
  private readonly leaseAgent: Agent;
  /** For streams, each of which holds a connection. However many there are, they take no request's place. */
  private readonly streamAgent: Agent;
  private readonly target: RequestOptions;
  /** One for all connections: to read the certificates for each connection takes longer than the rest of making it. */
  private trusted: {
    readonly authority: ClusterConnection["certificateAuthority"];
    readonly context: SecureContext;
  };
  /** The beginning of every path if the API server is behind a proxy: "/k8s/clusters/c-1". */
  private readonly basePath: string;
  /** The server's clock when ours, the monotonic one, began. Undefined if no answer has given it. */
  private clockBegan: number | undefined;
  /** Why no connection is opened any more. Undefined: connections are opened. */
  private closed: Error | undefined;

  /** @throws Error if the connection is not by https, or its certificates cannot be read */
  constructor(
    private readonly connection: ClusterConnection,
    private readonly onRequest: (report: RequestReport) => void = () => {},
  ) {
    const url = new URL(connection.server);
    if (url.protocol !== "https:")
      throw new Error(`the API server's address is ${connection.server}; only https:// is supported`);
    this.basePath = url.pathname.replace(/\/$/, "");
    this.trusted = this.trust();
    // The agent has no limit of its own, because a request that waited here would not ask its fence again. The gate limits
    // requests.
    this.agent = new Agent({ keepAlive: true, scheduling: "lifo" });
    this.leaseAgent = new Agent({ keepAlive: true, scheduling: "lifo" });
    this.streamAgent = new Agent();
    this.target = {
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port || 443,
      ...(connection.serverName && { servername: connection.serverName }),
      ...(connection.skipVerification && { rejectUnauthorized: false }),
    };
  }

  /**
   * Sends a request when its turn at the gate has come. Each repetition passes the gate again, where its fence is asked again.
   *
   * If a connection that was used before breaks, a request that creates nothing is sent again, although it may have been done: see
   * {@link StaleConnectionError}. Every caller bears that. A GET changes nothing. Each of our other requests names the version,
   * the uid or the value on which it depends, or sets what the first one has set. If the second one is refused because of what the
   * first one may have changed, the caller gets an error that the answer was lost, and reads the object.
   * @throws ApiError if the server refuses, ApiUnreachableError if there is no answer, AnswerTooLongError, and what the fence
   *   throws
   */
  async send<T>(request: ApiRequest): Promise<ApiAnswer<T>> {
    let waitedMs = 0;
    /** Why there was no answer to a try that may have been done. */
    let unanswered: ApiUnreachableError | undefined;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.gate.pass(request, () => this.sendOnce<T>(request));
      } catch (error) {
        if (unanswered && (isApiError(error, 409) || isApiError(error, 422))) throw unanswered;
        if (isStale(error)) unanswered = error;
        const waitMs = attempt < MOST_RETRIES ? repeatAfterMs(error, request) : undefined;
        if (waitMs === undefined || waitedMs + waitMs > LONGEST_WAIT_MS) throw error;
        await pause(waitMs, undefined, { signal: request.signal }).catch(() => {
          // The request ends. Why it was not answered by then says more than that.
          throw error;
        });
        waitedMs += waitMs;
      }
    }
  }

  /**
   * Opens a stream, for a watch, without the gate. Resolves when the server has accepted it. The stream is destroyed when nothing
   * comes for two minutes, or on the request's signal.
   */
  async open(request: ApiRequest): Promise<IncomingMessage> {
    const response = await this.exchange(request, WATCH_SILENCE_MS, this.streamAgent, () => {});
    if (response.statusCode !== 200) throw this.refusal(response, await readAll(response, request), request);
    return response;
  }

  /**
   * The time by the server's clock, in milliseconds since 1970, as its last answer gave it: up to a second late. The time by this
   * machine's clock if no answer has given a time.
   */
  now(): number {
    return this.clockBegan === undefined ? Date.now() : this.clockBegan + performance.now();
  }

  /** Closes every connection. A request that still waits or runs fails, and so does a later one. */
  close(): void {
    this.closed = new Error("the connection to the API server was closed");
    this.gate.close(this.closed);
    this.agent.destroy();
    this.leaseAgent.destroy();
    this.streamAgent.destroy();
  }

  private refusal(response: IncomingMessage, text: string, request: ApiRequest): ApiError {
    return settled(toApiError(response, text, request), performance.now() - this.awayAt);
  }

  private async sendOnce<T>(request: ApiRequest): Promise<ApiAnswer<T>> {
    const agent = request.class === "lease" ? this.leaseAgent : this.agent;
    let code = 0;
    let refused = false;
    const leave = () => {
      refused = true;
      request.fence?.();
      refused = false;
    };
    try {
      const response = await this.exchange(request, ANSWER_TIMEOUT_MS, agent, leave);
      const late = () =>
        response.destroy(new Error(`the answer has not ended within ${ANSWER_TIMEOUT_MS / 1000} s`));
      const timer = setTimeout(late, ANSWER_TIMEOUT_MS);
      const reading = readAll(response, request).finally(() => clearTimeout(timer));
      const text = await reading.catch((error: Error) => {
        if (error instanceof AnswerTooLongError) {
          code = response.statusCode ?? 0;
          throw error;
        }
        throw new ApiUnreachableError(requestText(request), error);
      });
      code = response.statusCode ?? 0;
      if (code < 200 || code > 299) throw this.refusal(response, text, request);
      return { code, body: decode<T>(text, request), length: text.length };
    } finally {
      if (!refused) this.onRequest({ method: request.method, code });
    }
  }

  /** Reads the certificates of the connection. @throws Error if they cannot be read */
  private trust(): HttpTransport["trusted"] {
    const { server, certificateAuthority: ca, certificate: cert, privateKey: key } = this.connection;
    try {
      const context = createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) });
      return { authority: ca, context };
    } catch (error) {
      const why = (error as Error).message;
      throw new Error(`the certificates or the key for ${server} cannot be read: ${why}`, { cause: error });
    }
  }

  /** @throws ApiUnreachableError if our own credentials cannot be read now */
  private async credentials(
    request: ApiRequest,
  ): Promise<{ token: string | undefined; secureContext: SecureContext }> {
    const { connection } = this;
    try {
      if (connection.certificateAuthority !== this.trusted.authority) this.trusted = this.trust();
      return { token: await connection.token?.(), secureContext: this.trusted.context };
    } catch (error) {
      throw new ApiUnreachableError(requestText(request), error as Error, false);
    }
  }

  /** @param leave called when there is a connection, before anything is sent. If it throws, nothing is sent */
  private async exchange(
    request: ApiRequest,
    silenceMs: number,
    agent: Agent,
    leave: () => void,
  ): Promise<IncomingMessage> {
    const { token, secureContext } = await this.credentials(request);
    const { signal } = request;
    // It may have been closed during the wait for the token. A stream does not pass the gate.
    if (this.closed) throw this.closed;
    signal?.throwIfAborted();
    const body = request.body === undefined ? undefined : writeJson(request.body);
    const options: RequestOptions & Pick<ConnectionOptions, "secureContext"> = {
      ...this.target,
      agent,
      secureContext,
      method: request.method,
      path: this.basePath + request.path,
      headers: { ...headersOf(request, token, body), ...this.connection.impersonation },
    };
    return new Promise((resolve, reject) => {
      let isSent = false;
      let isHeldBack = false;
      const outgoing = httpsRequest(options, (response) => {
        const at = Date.parse(response.headers.date ?? "");
        if (at >= 0) this.clockBegan = at - performance.now();
        resolve(response);
      });
      // Node's own option for signals would take a tenth of a request's time.
      if (signal)
        outgoing.once(
          "close",
          onAbort(signal, () => outgoing.destroy(signal.reason)),
        );
      outgoing.setTimeout(silenceMs, () =>
        outgoing.destroy(new Error(`no answer within ${silenceMs / 1000} s`)),
      );
      outgoing.on("error", (error) => {
        if (!signal?.aborted && !isHeldBack) this.awayAt = performance.now();
        const { code = "" } = error as NodeJS.ErrnoException;
        // The second, if the kernel knew when we wrote that the server was away.
        const isStale = outgoing.reusedSocket && ["ECONNRESET", "EPIPE"].includes(code);
        const cause = isStale ? new StaleConnectionError(error) : error;
        reject(new ApiUnreachableError(requestText(request), cause, isSent));
      });
      const send = () => {
        try {
          leave();
          isSent = true;
          outgoing.end(body);
        } catch (error) {
          isHeldBack = true;
          reject(error);
          outgoing.destroy();
        }
      };
      whenConnected(outgoing, send);
    });
  }
}

function headersOf(
  { accept = JSON_TYPE, contentType = JSON_TYPE }: ApiRequest,
  token: string | undefined,
  body: string | undefined,
): OutgoingHttpHeaders {
  return {
    accept,
    "user-agent": "argosy",
    ...(token && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { "content-type": contentType, "content-length": Buffer.byteLength(body) }),
  };
}

/**
 * Calls `send` when the request has a connection, which may take longer than a fence allows. If there is none in time, the request
 * fails.
 */
function whenConnected(outgoing: ClientRequest, send: () => void): void {
  outgoing.once("socket", (socket) => {
    if (outgoing.reusedSocket) return send();
    const late = () => outgoing.destroy(new Error(`no connection within ${CONNECTION_TIMEOUT_MS / 1000} s`));
    const timer = setTimeout(late, CONNECTION_TIMEOUT_MS);
    socket
      .once("close", () => clearTimeout(timer))
      .once("secureConnect", () => {
        clearTimeout(timer);
        send();
      });
  });
}

/**
 * A kept-alive connection broke when we used it again. In nearly all cases, the server had closed it before, and did not read the
 * request. But it may also have gone down when it had read the request, and done what it asks for.
 */
class StaleConnectionError extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/** Whether the request was lost by a {@link StaleConnectionError}. */
function isStale(error: unknown): error is ApiUnreachableError {
  return error instanceof ApiUnreachableError && error.cause instanceof StaleConnectionError;
}

/** After how long the request may be sent again. Undefined if it may not be sent again. */
function repeatAfterMs(error: unknown, request: ApiRequest): number | undefined {
  // A creation is the only request that must not be done twice. A dry run of one creates nothing.
  const creates = request.method === "POST" && !request.path.includes("dryRun=All");
  if (isStale(error)) return creates ? undefined : 0;
  // With these codes the server has not begun with the request. With any other code it may have begun.
  return isApiError(error, 429) || isApiError(error, 503) ? retryAfterMs(error) : undefined;
}
