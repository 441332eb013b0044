const NEWLINE = 0x0a;
/**
 * How many pieces of a line are joined before the line ends. Each piece takes some hundred bytes of memory in addition to its
 * content.
 */
const MOST_PIECES = 1_000;

/** A line was longer than its reader allows. */
export class LineTooLongError extends Error {
  constructor(readonly limitBytes: number) {
    super(`a line is longer than ${limitBytes} bytes`);
    this.name = "LineTooLongError";
  }
}

/**
 * Cuts a stream of bytes into lines, for the two line protocols that the engine speaks: a handler's answers and a watch's events.
 * Chunks are joined when a line is whole, or when there are very many. So a long line costs no quadratic copying, and a character
 * that is split between two chunks survives.
 */
export class LineSplitter {
  private pending: Buffer[] = [];
  private pendingBytes = 0;

  /**
   * @param limitBytes the longest line that is accepted, in bytes without its newline
   * @param decode makes a text of a line. By default, what is not UTF-8 becomes U+FFFD
   */
  constructor(
    private readonly limitBytes = Number.POSITIVE_INFINITY,
    private readonly decode = (line: Buffer) => line.toString("utf8"),
  ) {}

  /** Bytes of a line that has begun and not ended. */
  get unfinishedBytes(): number {
    return this.pendingBytes;
  }

  /**
   * Takes the next bytes and gives the lines that they complete, without their newlines.
   * @throws what `decode` throws; LineTooLongError as soon as the limit is passed, whether the line has ended or not
   */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.keep(chunk.subarray(start, end));
      lines.push(this.take());
      start = end + 1;
    }
    this.keep(chunk.subarray(start));
    return lines;
  }

  private keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.pendingBytes += bytes.length;
    if (this.pendingBytes > this.limitBytes) throw new LineTooLongError(this.limitBytes);
    this.pending.push(bytes);
    if (this.pending.length > MOST_PIECES)
      this.pending.splice(0, this.pending.length, Buffer.concat(this.pending));
  }

  private take(): string {
    const [first] = this.pending;
    const line = this.pending.length === 1 && first ? first : Buffer.concat(this.pending, this.pendingBytes);
    this.pending = [];
    this.pendingBytes = 0;
    return this.decode(line);
  }
}
