import { EventEmitter } from "node:events";
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import https, { type RequestOptions } from "node:https";

/** Sends a request, as `request` of `node:https` does. */
export type SendRequest = (
  options: RequestOptions,
  onAnswer: (answer: IncomingMessage) => void,
) => ClientRequest;

/**
 * What becomes of a write. "before": the process dies before the write leaves. "lost": the write is done, and the process dies
 * before it hears that. "late": the process dies, and the write is done after the next process has begun: see {@link Line.arrive}.
 * "unheard": the write is done, and its answer is lost. The process lives.
 */
export type Fate = "before" | "lost" | "late" | "unheard";

/** The header of each request that names its sender. */
export const SENDER_HEADER = "x-sender";
/** The header of a process's write that has its name. */
export const WRITE_HEADER = "x-write";
/** The beginning of the path of each request that goes by a line: which line, and who sends it. */
const PREFIX = /^\/line-(\d+)-([^/]+)(?=\/)/;
/** Who is no process of the operator. */
export const USER = "user";

const VERBS: Readonly<Record<string, string>> = { POST: "create", PUT: "replace", DELETE: "delete" };
const PATCHES: Readonly<Record<string, string>> = {
  "application/apply-patch+yaml": "apply",
  "application/json-patch+json": "edit",
  "application/merge-patch+json": "patch",
};

/**
 * The line between the processes of an operator and their API server: it names each write, and decides what becomes of it. It
 * stands in for `request` of `node:https`, so that everything above that is the engine's own.
 */
export class Line {
  private static readonly all = new Map<number, Line>();
  private static readonly real = https.request;
  private static made = 0;
  /** What becomes of a write by its name: "apply configmaps/a #1" is the first one of that object. Undefined: it is done and answered. */
  decide: (write: string) => Fate | undefined = () => undefined;
  /** Called before each write of an object that is not written all the time, as Leases and Events are. */
  onWrite: () => void = () => {};
  /** Called when a process has died by one of its writes. */
  onDeath: () => void = () => {};
  private readonly id = ++Line.made;
  private readonly dead = new Set<string>();
  private readonly counts = new Map<string, number>();
  private late: (() => void)[] = [];
  /** Requests that get no answer, until the line is taken down. */
  private readonly unanswered = new Set<ClientRequest>();
  private isOver = false;
  private isSilent = false;

  /** Every line must be taken down: {@link end}. @param send what carries the requests. @default `node:https` */
  constructor(private readonly send: SendRequest = Line.real) {
    Line.all.set(this.id, this);
    https.request = ((options: RequestOptions, onAnswer: (answer: IncomingMessage) => void) => {
      const [prefix, id, sender = USER] = PREFIX.exec(options.path ?? "") ?? [];
      if (prefix === undefined) return Line.real(options, onAnswer);
      const line = Line.all.get(Number(id));
      if (!line) return silent();
      const path = options.path?.slice(prefix.length);
      return line.request(sender, marked({ ...options, path }, SENDER_HEADER, sender), onAnswer);
    }) as typeof https.request;
  }

  /** From now on requests by this line fail. @param isSilent they get no answer instead: all that wait for one wait for ever */
  end(isSilent = false): void {
    [this.isOver, this.isSilent] = [true, isSilent];
    if (isSilent) Line.all.delete(this.id);
    else for (const outgoing of this.unanswered) outgoing.emit("error", new Error("the line is down"));
    this.unanswered.clear();
    if ([...Line.all.values()].every(({ isOver }) => isOver)) https.request = Line.real;
  }

  /** The address of the API server for one who is on this line. @default for a user, whose writes are all done */
  addressOf(server: string, sender = USER): string {
    return `${server}/line-${this.id}-${sender}`;
  }

  /** The process dies: nothing that it sends leaves any more, and it hears nothing. */
  kill(process: string): void {
    this.dead.add(process);
    this.onDeath();
  }

  /** Whether a process hears nothing any more. */
  isDead(process: string): boolean {
    return this.isSilent || this.dead.has(process);
  }

  /** A write that was late is done now. @returns whether there was one */
  arrive(): boolean {
    const late = this.late.splice(0);
    for (const send of late) send();
    return late.length > 0;
  }

  private request(
    process: string,
    options: RequestOptions,
    onAnswer: (answer: IncomingMessage) => void,
  ): ClientRequest {
    if (this.isOver) return failing();
    if (this.isDead(process)) return this.silent();
    const write = process !== USER && options.method !== "GET" ? this.named(process, options) : undefined;
    if (write && !/ (leases|events)/.test(write)) this.onWrite();
    const fate = write && this.decide(write);
    if (!fate) {
      const outgoing = this.send(write ? marked(options, WRITE_HEADER, write) : options, (answer) => {
        if (this.isDead(process)) this.unanswered.add(outgoing);
        else onAnswer(answer);
      });
      return outgoing;
    }
    if (fate === "unheard") return this.unheard(options);
    return this.silent((body) => {
      const send = () => this.unheard(options).end(body);
      if (fate === "lost") send();
      else if (fate === "late") this.late.push(send);
      this.kill(process);
    });
  }

  private silent(end?: (body?: string) => void): ClientRequest {
    const outgoing = silent(end);
    this.unanswered.add(outgoing);
    return outgoing;
  }

  /** Sends a request whose answer is not passed on. */
  private unheard(options: RequestOptions): ClientRequest {
    const outgoing = this.send(options, (answer) => {
      answer.resume();
      answer.once("end", () => outgoing.emit("error", new Error("socket hang up")));
    });
    outgoing.on("error", () => {});
    return outgoing;
  }

  private named(process: string, options: RequestOptions): string {
    const name = nameOf(options);
    const count = (this.counts.get(`${process} ${name}`) ?? 0) + 1;
    this.counts.set(`${process} ${name}`, count);
    return `${name} #${count}`;
  }
}

function marked(options: RequestOptions, header: string, value: string): RequestOptions {
  return { ...options, headers: { ...(options.headers as OutgoingHttpHeaders), [header]: value } };
}

/** "apply configmaps/a": without the namespace, and without the names of Events, which are made of the time. */
function nameOf({ method = "", path = "", headers }: RequestOptions): string {
  const type = String((headers as Record<string, unknown> | undefined)?.["content-type"]);
  const verb = VERBS[method] ?? PATCHES[type] ?? method;
  const url = new URL(path ?? "/", "https://api");
  const [, place = ""] =
    /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/(?=.))?(.*)$/.exec(url.pathname) ?? [];
  const isTry = url.searchParams.get("dryRun") ? "try to " : "";
  return `${isTry}${verb} ${place.replace(/^events\/.*/, "events")}`;
}

/** A request that gets no connection. */
function failing(): ClientRequest {
  const outgoing = silent();
  setImmediate(() => outgoing.emit("error", new Error("the line is down")));
  return outgoing;
}

/** A request that gets a connection and no answer. @param end called with the body that would leave */
function silent(end: (body?: string) => void = () => {}): ClientRequest {
  const outgoing = Object.assign(new EventEmitter(), {
    reusedSocket: true,
    setTimeout: () => {},
    destroy: () => {},
    end,
  });
  setImmediate(() => outgoing.emit("socket", outgoing));
  return outgoing as unknown as ClientRequest;
}
