import { EventEmitter } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { SENDER_HEADER, type SendRequest, USER, WRITE_HEADER } from "../../../../tools/chaos/kills/line";
import type { Change, MemoryAnswer, MemoryApi, MemoryCall } from "./memoryApi";

/** What stands between the processes of an operator and the API server, such as a cache that is late. */
export interface Intermediary {
  /** Another answer to a request that is no watch. Undefined: the API server's own. */
  readonly answer?: ((call: MemoryCall) => MemoryAnswer | undefined) | undefined;
  /** What a write is answered instead of being done. Undefined: it is done. */
  readonly refuse?: ((write: string) => MemoryAnswer | undefined) | undefined;
  /** What happens before the API server has a write, by the write's name. */
  readonly before?: ((write: string) => Promise<unknown> | undefined) | undefined;
  /** What happens between a write and its answer. */
  readonly after?: ((write: string) => Promise<unknown> | undefined) | undefined;
  /** Whether a watch is told of a change. */
  readonly tells?: ((change: Change) => boolean) | undefined;
}

/** No answer: the connection is cut. */
export const CUT: MemoryAnswer = { code: 0, body: "" };

/** {@link MemoryApi} behind what looks like `request` of `node:https`. */
export class MemoryHttps {
  /** @default nothing */
  intermediary: Intermediary = {};
  /** How long each request of the operator's takes. @default no time */
  latency: (() => Promise<unknown>) | undefined;
  /** Counts requests and answers, so that one can see whether something still happens. */
  activity = 0;
  /** Whether a sender hears nothing any more: a process that has died must not work on what its watches would tell. */
  isDead: (sender: string) => boolean = () => false;
  /** What no watch is told yet. Undefined: each is told at once. */
  private held: (() => void)[] | undefined;
  private readonly watches = new Set<{ tell: (change: Change) => void; end: (error?: object) => void }>();

  constructor(private readonly api: MemoryApi) {
    api.onChange = (change) => {
      for (const { tell } of [...this.watches]) tell(change);
    };
  }

  readonly send: SendRequest = (options, onAnswer) => {
    const write = (options.headers as Record<string, string>)[WRITE_HEADER];
    const { before, after } = this.intermediary;
    const outgoing = new MemoryRequest(async (body) => {
      this.activity += 1;
      await turn();
      if ((options.headers as Record<string, string>)[SENDER_HEADER] !== USER) await this.latency?.();
      if (write && before) await before(write);
      this.activity += 1;
      if (outgoing.isDestroyed) return;
      const refused = write ? this.intermediary.refuse?.(write) : undefined;
      if (refused?.code === CUT.code) return outgoing.destroy();
      const answer = refused ? answerWith(refused) : this.answer(options, body);
      if (write && after) await after(write);
      this.activity += 1;
      outgoing.answered(answer, onAnswer);
    });
    return outgoing as unknown as ClientRequest;
  };

  /** From now on no watch is told anything, until {@link release}. */
  hold(): void {
    this.held ??= [];
  }

  /** Tells the watches what was held. */
  release(): void {
    const { held = [] } = this;
    this.held = undefined;
    for (const tell of held) tell();
  }

  /** Every watch ends, because the API server has forgotten its version. */
  expire(): void {
    const object = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" };
    for (const { end } of [...this.watches]) end({ type: "ERROR", object });
  }

  private answer(options: RequestOptions, body = ""): IncomingMessage {
    const headers = options.headers as Record<string, string>;
    const url = new URL(options.path ?? "/", "https://api");
    const sender = headers[SENDER_HEADER] ?? USER;
    const isUser = sender === USER;
    const call = { method: options.method ?? "GET", url, headers, body };
    if (url.searchParams.has("watch")) return this.watch(url, sender);
    return answerWith((isUser ? undefined : this.intermediary.answer?.(call)) ?? this.api.handle(call));
  }

  private watch(url: URL, sender: string): IncomingMessage {
    const stream = new Readable({ read() {} });
    const isUser = sender === USER;
    const send = (event: object) => {
      if (this.isDead(sender)) return;
      this.activity += 1;
      stream.push(Buffer.from(`${JSON.stringify(event)}\n`));
    };
    const tell = (change: Change) => {
      const event = this.api.eventOf(change, url);
      if (!event || (!isUser && this.intermediary.tells?.(change) === false)) return;
      if (this.held && !isUser) this.held.push(() => send(event));
      else send(event);
    };
    const watch = { tell, end: (error?: object) => error && send(error) };
    const from = Number(url.searchParams.get("resourceVersion") ?? 0);
    for (const change of this.api.log) if (change.version > from) tell(change);
    this.watches.add(watch);
    stream.on("close", () => this.watches.delete(watch));
    return message(200, stream);
  }
}

class MemoryRequest extends EventEmitter {
  readonly reusedSocket = true;
  isDestroyed = false;
  private answer: IncomingMessage | undefined;

  constructor(readonly end: (body?: string) => void) {
    super();
    setImmediate(() => this.emit("socket", this));
  }

  setTimeout(): void {}

  answered(answer: IncomingMessage, onAnswer: (answer: IncomingMessage) => void): void {
    this.answer = answer;
    answer.once("close", () => this.emit("close"));
    answer.on("error", () => {});
    onAnswer(answer);
  }

  destroy(error?: Error): void {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    if (this.answer) return void this.answer.destroy(error);
    this.emit("error", error ?? new Error("socket hang up"));
    this.emit("close");
  }
}

/** A text is answered as it is. */
function answerWith({ code, body, headers }: MemoryAnswer): IncomingMessage {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const stream = new Readable({ read() {} });
  stream.push(text);
  stream.push(null);
  return message(code, stream, headers);
}

function message(statusCode: number, stream: Readable, more: Record<string, string> = {}): IncomingMessage {
  const headers = { date: new Date().toUTCString(), "content-type": "application/json", ...more };
  return Object.assign(stream, { statusCode, headers }) as unknown as IncomingMessage;
}
