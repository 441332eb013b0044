import { SourceMap, type SourceMapPayload } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
import WebSocket from "ws";

/** A message of the inspector that answers nothing: an event. */
export interface InspectorEvent {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** Where a debugged program has stopped. */
export interface Stop {
  /** Evaluates an expression in the innermost frame, to a value of JSON. */
  evaluate(expression: string): Promise<unknown>;
  /** Lets the program go on. The program may end before it confirms that. */
  resume(): Promise<void>;
}

/** A command that waits for its answer. */
interface Command {
  readonly resolve: (result: Record<string, unknown>) => void;
  readonly reject: (error: Error) => void;
}

/** The process ended that was debugged: it answers nothing any more. */
class DebuggedProcessEnded extends Error {
  constructor() {
    super("the debugged process has ended");
  }
}

/** A debugger that speaks the protocol of Node's inspector, as editors do. */
export class InspectorClient {
  private readonly waiting = new Map<number, Command>();
  private readonly events: InspectorEvent[] = [];
  private count = 0;

  private constructor(private readonly socket: WebSocket) {
    socket.on("message", (data) => {
      const message = JSON.parse(String(data)) as InspectorEvent & {
        id?: number;
        result?: object;
        error?: object;
      };
      if (message.id === undefined) this.events.push(message);
      else
        this.waiting
          .get(message.id)
          ?.resolve({ ...message.result, ...(message.error && { error: message.error }) });
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      for (const { reject } of this.waiting.values()) reject(new DebuggedProcessEnded());
    });
  }

  /**
   * Attaches to the process that listens on a port of this machine, as soon as one does, and lets it begin. If that process
   * is being ended for an edit, the next one is attached to.
   */
  static async attach(
    port: number,
    begin = (client: InspectorClient) => client.begin(),
  ): Promise<InspectorClient> {
    for (;;) {
      const client = await InspectorClient.open(port);
      try {
        await begin(client);
        return client;
      } catch (error) {
        if (!(error instanceof DebuggedProcessEnded)) throw error;
      }
    }
  }

  private static async open(port: number): Promise<InspectorClient> {
    for (;;) {
      const list = await fetch(`http://127.0.0.1:${port}/json/list`).then(
        async (answer) => (await answer.json()) as { webSocketDebuggerUrl: string }[],
        () => [],
      );
      const [target] = list;
      if (target) {
        const socket = new WebSocket(target.webSocketDebuggerUrl);
        const client = new InspectorClient(socket);
        const isOpen = await new Promise((resolve) => {
          socket.once("open", () => resolve(true)).once("close", () => resolve(false));
        });
        if (isOpen) return client;
      }
      await pause(50);
    }
  }

  send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    this.count += 1;
    const id = this.count;
    if (this.socket.readyState !== WebSocket.OPEN) return Promise.reject(new DebuggedProcessEnded());
    const answered = new Promise<Record<string, unknown>>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
    });
    this.socket.send(JSON.stringify({ id, method, params }));
    return answered.finally(() => this.waiting.delete(id));
  }

  /** The next wanted event. Earlier ones count if they were not returned yet. */
  async event(isWanted: (event: InspectorEvent) => boolean): Promise<InspectorEvent> {
    for (;;) {
      const index = this.events.findIndex(isWanted);
      const [found] = index < 0 ? [] : this.events.splice(index, 1);
      if (found) return found;
      if (this.socket.readyState === WebSocket.CLOSED) throw new DebuggedProcessEnded();
      await pause(20);
    }
  }

  /** Lets the process begin that waits for a debugger. */
  async begin(): Promise<void> {
    await this.send("Debugger.enable");
    await this.send("Runtime.runIfWaitingForDebugger");
  }

  /**
   * Lets the process begin, with a breakpoint in a line of a source. As editors do, it stops where the script begins, reads its
   * source map, and sets the breakpoint then.
   * @param line counted from 1
   */
  async beginWithBreak(source: string, line: number): Promise<void> {
    await this.send("Debugger.enable");
    const urlRegex = `${source.replaceAll(".", "\\.")}$`;
    const { breakpointId } = await this.send("Debugger.setBreakpointByUrl", { urlRegex, lineNumber: 0 });
    await this.send("Runtime.runIfWaitingForDebugger");
    const script = await this.event(
      ({ method, params }) => method === "Debugger.scriptParsed" && isMapped(params, source),
    );
    await this.event(({ method }) => method === "Debugger.paused");
    const lineNumber = generatedLine(String(script.params["sourceMapURL"]), source, line);
    const { actualLocation, error } = await this.send("Debugger.setBreakpoint", {
      location: { scriptId: script.params["scriptId"], lineNumber, columnNumber: 0 },
    });
    if (!actualLocation) throw new Error(`no breakpoint: ${JSON.stringify(error)}`);
    await this.send("Debugger.removeBreakpoint", { breakpointId });
    await this.send("Debugger.resume");
  }

  /** Waits until the program stops. */
  async stopped(): Promise<Stop> {
    const { params } = await this.event(({ method }) => method === "Debugger.paused");
    const [frame] = params["callFrames"] as { callFrameId: string }[];
    return {
      evaluate: async (expression) => {
        const asked = { callFrameId: frame?.callFrameId, expression, returnByValue: true };
        const { result } = await this.send("Debugger.evaluateOnCallFrame", asked);
        return (result as { value: unknown }).value;
      },
      resume: () =>
        this.send("Debugger.resume").then(
          () => {},
          (error) => {
            if (!(error instanceof DebuggedProcessEnded)) throw error;
          },
        ),
    };
  }

  /** Waits until the process has ended. */
  async ended(): Promise<void> {
    while (this.socket.readyState !== WebSocket.CLOSED) await pause(20);
  }

  close(): void {
    this.socket.terminate();
  }
}

function isMapped(params: Record<string, unknown>, source: string): boolean {
  return String(params["url"]).endsWith(source) && String(params["sourceMapURL"]).startsWith("data:");
}

/** The line of the script that was made of a line of a source, counted from 0. */
function generatedLine(url: string, source: string, line: number): number {
  const text = Buffer.from(url.slice(url.indexOf(",") + 1), "base64").toString();
  const map = new SourceMap(JSON.parse(text) as SourceMapPayload);
  for (let generated = 0; generated < 100_000; generated++) {
    const entry = map.findEntry(generated, 200);
    if (!("originalLine" in entry)) continue;
    if (entry.originalSource.endsWith(source) && entry.originalLine === line - 1) return generated;
  }
  throw new Error(`no line is made of ${source}:${line}`);
}
