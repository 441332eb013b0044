import type { Socket } from "node:net";
import { openNamedPipe, removeName } from "./namedPipe";

/** Receives the output of a process. */
export interface ProcessOutput {
  output(chunk: Buffer): void;
  log(chunk: Buffer): void;
  /** Both outputs have ended: nothing more will come. */
  ended(): void;
}

/** Our ends of one process's standard streams. */
export class ProcessPipes {
  private readonly input: Socket;
  private readonly outputs: Socket[] = [];
  private open = 2;

  /**
   * @param name path of its pipes without their ".in", ".out" and ".err"
   * @throws NodeJS.ErrnoException if one cannot be opened; the others are closed
   */
  constructor(
    private readonly name: string,
    receiver: ProcessOutput,
  ) {
    try {
      this.read("out", (chunk) => receiver.output(chunk), receiver);
      this.read("err", (chunk) => receiver.log(chunk), receiver);
      this.input = openNamedPipe(`${name}.in`, "feed");
    } catch (error) {
      for (const output of this.outputs) output.destroy();
      throw error;
    }
  }

  /** Whether both outputs have ended. */
  get ended(): boolean {
    return this.open === 0;
  }

  write(text: string): void {
    if (this.input.writable) this.input.write(text);
  }

  /**
   * Ends its input, after the bytes that were written. Call it only when the process has the pipe open: otherwise the input is
   * lost.
   */
  end(): void {
    this.input.end();
  }

  /** Removes the names of the pipes. Open pipes stay open. */
  unlink(): void {
    for (const pipe of ["in", "out", "err"]) removeName(`${this.name}.${pipe}`);
  }

  destroy(): void {
    for (const socket of [this.input, ...this.outputs]) socket.destroy();
  }

  private read(pipe: "out" | "err", receive: (chunk: Buffer) => void, receiver: ProcessOutput): void {
    const output = openNamedPipe(`${this.name}.${pipe}`, "read");
    this.outputs.push(output);
    output.on("data", receive);
    output.on("close", () => {
      this.open--;
      if (this.open === 0) receiver.ended();
    });
  }
}
