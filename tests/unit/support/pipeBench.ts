import assert from "node:assert/strict";
import { readdirSync, watch } from "node:fs";
import { tmpdir } from "node:os";
import { PipeTransport } from "../../../runtime/handler/container/pipeTransport";
import type {
  HandlerExit,
  HandlerProcess,
  HandlerTransport,
} from "../../../runtime/handler/handlerTransport";
import { soon } from "../../support/eventually";
import { HandlerContainer, type Shell } from "./handlerContainer";

/** The exit of a process that was killed. */
export const KILLED: HandlerExit = { code: null, signal: "SIGKILL" };

/** A process that was started, and all that it has told. */
export class Listened {
  readonly outputs: Buffer[] = [];
  readonly logs: Buffer[] = [];
  readonly exits: HandlerExit[] = [];
  readonly process: HandlerProcess;

  constructor(transport: HandlerTransport) {
    this.process = transport.start({
      output: (chunk) => this.told(() => this.outputs.push(chunk)),
      log: (chunk) => this.told(() => this.logs.push(chunk)),
      exited: (exit) => this.told(() => this.exits.push(exit)),
    });
  }

  get output(): string {
    return Buffer.concat(this.outputs).toString("utf8");
  }

  get log(): string {
    return Buffer.concat(this.logs).toString("utf8");
  }

  async exit(): Promise<HandlerExit | undefined> {
    await soon(() => assert.ok(this.exits.length > 0, "the process has ended"));
    return this.exits[0];
  }

  private told(note: () => void): void {
    assert.equal(this.exits.length, 0, "the exit was not the last word");
    note();
  }
}

/** How many descriptors this process has open. */
export function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

/** A handler's container, and our end of its pipes. */
export class PipeBench {
  /** Set by each test, and removed after it. */
  container!: HandlerContainer;
  /** Closed after each test. */
  transport: PipeTransport | undefined;

  constructor(private readonly shell: Shell) {}

  /** A container with that command, its shell begun, and our end of it. */
  runs(command: readonly string[], env: Readonly<Record<string, string>> = {}): PipeTransport {
    this.container = new HandlerContainer(this.shell, command, env).start();
    this.transport = new PipeTransport({ folder: this.container.pipes });
    return this.transport;
  }

  /** The same, with a script of the shell. */
  runsScript(script: string, ...args: string[]): PipeTransport {
    return this.runs(["sh", "-c", script, "sh", ...args]);
  }

  /** The lines of a process, once they are as many. */
  async lines(handler: Listened, count: number): Promise<string[]> {
    await soon(() => assert.ok(handler.output.split("\n").length > count, "the handler has answered"));
    return handler.output.split("\n").slice(0, -1);
  }
}

/** A bench for the tests of a suite. Each of them must leave no descriptor open. */
export function usePipes(shell: Shell): PipeBench {
  const bench = new PipeBench(shell);
  let descriptors: number;
  // The first watch of a program takes a descriptor that Node keeps.
  before(() => watch(tmpdir()).close());
  beforeEach(() => {
    descriptors = openDescriptors();
  });
  afterEach(async () => {
    await bench.transport?.close();
    bench.transport = undefined;
    await bench.container.remove();
    await soon(() => assert.ok(openDescriptors() <= descriptors, "all descriptors are closed"));
  });
  return bench;
}
