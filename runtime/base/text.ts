// Texts cleaned, cut and sorted, and bytes as lines of text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be removed
const ESCAPE_SEQUENCE = /\u001b(\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])/g;
/** Control characters except the newline, and characters that end a line or change the reading direction. */
const ACTIVE = /[^\P{Cc}\n]|[\u2028\u2029\p{Bidi_Control}]/gu;

/** Half of a character: a surrogate without its other half. The API server would not give it back as it was. */
const HALF_CHARACTER = /\p{Cs}/gu;

/** The longest text for readers, such as the message of a condition: the API allows 32768 characters there. */
export const LONGEST = 1024;

/**
 * Removes characters on which a terminal would act, replaces half of a character by U+FFFD, and cuts a text that is too long to
 * be read.
 * @param longest how many characters are left. @default 1024
 */
export function clean(text: string, longest = LONGEST): string {
  const plain = text.replace(ESCAPE_SEQUENCE, "").replace(ACTIVE, "").replace(HALF_CHARACTER, "\ufffd");
  const short = plain.length > longest ? `${plain.slice(0, longest - 1)}…` : plain;
  // The cut itself may have left half of a character.
  return short.replace(HALF_CHARACTER, "");
}

/** Replaces the text that was left out. A value of a Secret may have begun before it: see `Scrubber`. */
export const CUT = "…";

/** A text of at most this many characters, with {@link CUT} instead of the rest. */
export function cut(text: string, longest: number): string {
  return text.length > longest ? text.slice(0, longest) + CUT : text;
}

/** A text of at most this many bytes of UTF-8, with {@link CUT}, which counts too, instead of the rest. */
export function cutBytes(text: string, longest: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= longest) return text;
  // The decoder of a stream leaves out a character that is cut in the middle.
  const kept = new TextDecoder().decode(bytes.subarray(0, longest - Buffer.byteLength(CUT)), {
    stream: true,
  });
  return kept + CUT;
}

/** Sorts texts by their characters, whatever the language of the machine is. Times as RFC 3339 in UTC: the oldest first. */
export function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The same text for a map that keeps it as a key: a text that was put together may keep its parts in memory as well. */
export function flat(text: string): string {
  return Buffer.from(text).toString();
}

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
