import { StringDecoder } from "node:string_decoder";
import { CUT } from "../text/cut";

const NEWLINE = 0x0a;

/**
 * The end of a log, in whole lines. A line without its beginning is left out: it may have the end of a Secret's value, which
 * nobody could recognise (`Scrubber`).
 */
export class LogTail {
  private bytes = Buffer.alloc(0);
  private isCut = false;
  /** Whether the next line has lost its beginning. */
  private isBroken = false;

  /** @param longest how many bytes are kept */
  constructor(private readonly longest: number) {}

  /** Takes in the next bytes. */
  keep(chunk: Buffer): void {
    const joined = Buffer.concat([this.bytes, chunk]);
    const before = Math.max(0, joined.length - this.longest);
    if (before === 0 && !this.isBroken) {
      this.bytes = joined;
      return;
    }
    // A whole line begins after a line end, which may be the last byte that is not kept.
    const lineEnd = joined.indexOf(NEWLINE, Math.max(0, before - 1));
    this.isCut = true;
    this.isBroken = lineEnd < 0;
    this.bytes = lineEnd < 0 ? Buffer.alloc(0) : joined.subarray(lineEnd + 1);
  }

  /** The part that was kept, after {@link CUT} on a line of its own if there was more. */
  text(): string {
    // Leaves out a character of which only a part has arrived.
    const text = new StringDecoder("utf8").write(this.bytes);
    return this.isCut ? `${CUT}\n${text}` : text;
  }

  /** Begins again. */
  clear(): void {
    this.bytes = Buffer.alloc(0);
    this.isCut = this.isBroken = false;
  }
}
