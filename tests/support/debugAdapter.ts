import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

interface Message {
  readonly type: "response" | "event";
  readonly event?: string;
  readonly request_seq?: number;
  readonly success?: boolean;
  readonly message?: string;
  readonly body?: Record<string, never>;
}

/**
 * A debugger that speaks the Debug Adapter Protocol to debugpy, as VS Code does.
 * @see https://microsoft.github.io/debug-adapter-protocol/specification
 */
export class DebugAdapterClient {
  private readonly messages: Message[] = [];
  private received = Buffer.alloc(0);
  private count = 0;

  private constructor(private readonly socket: Socket) {
    socket.on("data", (chunk) => this.take(chunk));
    socket.on("error", () => {});
  }

  /** Attaches to the process that listens on a port of this machine, as soon as one does. */
  static async attach(port: number): Promise<DebugAdapterClient> {
    for (;;) {
      const socket = await new Promise<Socket | undefined>((resolve) => {
        const trying = connect(port, "127.0.0.1");
        trying.once("connect", () => resolve(trying)).once("error", () => resolve(undefined));
      });
      if (socket) return new DebugAdapterClient(socket);
      await pause(50);
    }
  }

  /** Lets the process begin, with a breakpoint in a line of a file. */
  async begin(file: string, line: number): Promise<void> {
    await this.request("initialize", { adapterID: "test", linesStartAt1: true, pathFormat: "path" });
    // It is answered only when the configuration is done.
    const attached = this.request("attach", { justMyCode: true });
    await this.event("initialized");
    const set = await this.request("setBreakpoints", { source: { path: file }, breakpoints: [{ line }] });
    const [breakpoint] = set["breakpoints"] as unknown as { verified: boolean }[];
    if (!breakpoint?.verified) throw new Error(`no breakpoint: ${JSON.stringify(set)}`);
    await this.request("configurationDone");
    await attached;
  }

  /** Waits until the program stops, and evaluates an expression there. */
  async stopped(expression: string): Promise<{ readonly result: string; readonly threadId: number }> {
    const { threadId } = await this.event("stopped");
    const { stackFrames } = await this.request("stackTrace", { threadId });
    const [frame] = stackFrames as unknown as { id: number }[];
    const { result } = await this.request("evaluate", { expression, frameId: frame?.id, context: "repl" });
    return { result: result as unknown as string, threadId: threadId as unknown as number };
  }

  async resume(threadId: number): Promise<void> {
    await this.request("continue", { threadId });
  }

  close(): void {
    this.socket.destroy();
  }

  private async request(command: string, args: object = {}): Promise<Record<string, never>> {
    this.count += 1;
    const seq = this.count;
    const text = JSON.stringify({ seq, type: "request", command, arguments: args });
    this.socket.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    const answer = await this.message(({ type, request_seq }) => type === "response" && request_seq === seq);
    if (!answer.success) throw new Error(`${command}: ${answer.message}`);
    return answer.body ?? {};
  }

  private async event(name: string): Promise<Record<string, never>> {
    return (await this.message(({ type, event }) => type === "event" && event === name)).body ?? {};
  }

  private async message(isWanted: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const index = this.messages.findIndex(isWanted);
      const [found] = index < 0 ? [] : this.messages.splice(index, 1);
      if (found) return found;
      if (this.socket.destroyed) throw new Error("the debug adapter has closed the connection");
      await pause(20);
    }
  }

  private take(chunk: Buffer): void {
    this.received = Buffer.concat([this.received, chunk]);
    for (;;) {
      const end = this.received.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.received.subarray(0, end).toString())?.[1]);
      if (this.received.length < end + 4 + length) return;
      const text = this.received.subarray(end + 4, end + 4 + length).toString();
      this.received = this.received.subarray(end + 4 + length);
      this.messages.push(JSON.parse(text) as Message);
    }
  }
}
