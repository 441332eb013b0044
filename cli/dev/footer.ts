import { stripVTControlCharacters } from "node:util";

/** A terminal, such as `process.stdout`. */
export interface Screen {
  write(text: string): unknown;
  /** Undefined or 0 if the width is not known. */
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

/** The content of a {@link Footer}, and its terminal. */
export interface FooterOptions {
  readonly screen: Screen;
  /** The current lines, without line breaks. Each is at most `width` wide, and there are at most `height`. */
  readonly frame: (width: number, height: number) => readonly string[];
  /** The shortest time between two frames, in milliseconds. @default 250 */
  readonly pauseMs?: number;
  /** How often the lines are checked if no change was announced, in milliseconds. @default 1000 */
  readonly periodMs?: number;
}

const PAUSE_MS = 250;
const PERIOD_MS = 1_000;
/** How many lines of the log are kept to draw the screen again after the terminal was resized. */
const KEPT_LINES = 200;

const UP = (lines: number) => (lines > 0 ? `\u001b[${lines}A` : "");
const ERASE_LINE = "\u001b[2K";
const ERASE_BELOW = "\u001b[J";
const HOME = "\u001b[H";
/**
 * A terminal shows all output between these two at once:
 * https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036
 */
const BEGIN = "\u001b[?2026h";
const END = "\u001b[?2026l";

/**
 * Keeps lines at the bottom of a terminal, below everything that is written.
 *
 * Guarantees, each with a test in tests/unit/cliDevTable.test.ts:
 * - What is written is written in full and in order, and stands above the lines.
 * - Each frame is one write. If no line has changed, nothing is written.
 * - After a change of the terminal's size the screen is drawn again, so that no old lines remain.
 * - After {@link close} the lines are gone, and the cursor stands where the next line of the log begins.
 *
 * Assumption: no other process writes to the terminal. Enter, typed into it, leaves a blank line or a line of the old frame.
 *
 * The cursor is not hidden, and no mode of the terminal is changed. So a killed process leaves nothing to restore.
 */
export class Footer {
  /** The lines that the terminal shows now, below which the cursor stands. */
  private drawn: readonly string[] = [];
  /** The text to write above the lines. Only whole lines. */
  private pending = "";
  /** The beginning of a line whose end has not been written yet. */
  private begun = "";
  /** The end of the log. */
  private kept: string[] = [];
  private isResized = false;
  private lastFrameAt = Number.NEGATIVE_INFINITY;
  private next: NodeJS.Timeout | undefined;
  private isClosed = false;
  private readonly period: NodeJS.Timeout;

  constructor(private readonly options: FooterOptions) {
    options.screen.on("resize", this.resized);
    process.once("exit", this.close);
    process.on("SIGCONT", this.continued);
    this.period = setInterval(() => this.changed(), options.periodMs ?? PERIOD_MS);
    this.period.unref();
  }

  /** Writes text above the lines. Works after closing, too. */
  readonly write = (text: string): void => {
    if (this.isClosed) return void this.options.screen.write(text);
    const end = text.lastIndexOf("\n") + 1;
    if (end === 0) {
      this.begun += text;
      return;
    }
    this.pending += this.begun + text.slice(0, end);
    this.begun = text.slice(end);
    this.changed();
  };

  /** To be called if the lines may have changed. They are drawn at once, or soon if they were drawn just before. */
  changed(): void {
    if (this.isClosed || this.next) return;
    const waitMs = this.lastFrameAt + (this.options.pauseMs ?? PAUSE_MS) - performance.now();
    if (waitMs <= 0) return this.draw();
    this.next = setTimeout(() => {
      this.next = undefined;
      this.draw();
    }, waitMs);
  }

  /** Removes the lines for good. The log stays. */
  readonly close = (): void => {
    if (this.isClosed) return;
    this.isClosed = true;
    clearInterval(this.period);
    clearTimeout(this.next);
    this.options.screen.off("resize", this.resized);
    process.off("exit", this.close);
    process.off("SIGCONT", this.continued);
    const rest = this.pending + this.begun;
    // A terminal writes ^C where the cursor stands.
    const erase = this.drawn.length > 0 ? `\r${UP(this.drawn.length)}${ERASE_BELOW}` : "";
    if (erase || rest) this.options.screen.write(erase + rest);
  };

  private readonly resized = (): void => {
    this.isResized = true;
    this.changed();
  };

  /** After a shell has written below the lines. The old lines stay, and the lines are drawn again below the shell's text. */
  private readonly continued = (): void => {
    this.drawn = [];
    this.changed();
  };

  private draw(): void {
    this.lastFrameAt = performance.now();
    const { screen } = this.options;
    const columns = screen.columns || 80;
    const rows = screen.rows || 24;
    // A line that fills the last column wraps in some terminals. At least half of the screen is the log's.
    const lines = this.options.frame(columns - 1, Math.floor(rows / 2));
    const log = this.pending;
    this.pending = "";
    this.keep(log);
    const footer = lines.map((line) => `${ERASE_LINE}${line}\n`).join("");
    if (this.isResized) {
      this.isResized = false;
      const tail = this.tailOf(columns, rows - lines.length - 1);
      screen.write(`${BEGIN}${HOME}${ERASE_BELOW}${tail}${footer}${END}`);
    } else if (log || !isSame(lines, this.drawn)) {
      const above = log ? ERASE_BELOW + log : "";
      screen.write(`${BEGIN}\r${UP(this.drawn.length)}${above}${footer}${ERASE_BELOW}${END}`);
    }
    this.drawn = lines;
  }

  private keep(log: string): void {
    if (!log) return;
    this.kept = [...this.kept, ...log.split("\n").slice(0, -1)].slice(-KEPT_LINES);
  }

  /** The end of the log, as much of it as fits into these rows. */
  private tailOf(columns: number, rows: number): string {
    let left = rows;
    let first = this.kept.length;
    for (; first > 0; first--) {
      const line = stripVTControlCharacters(this.kept[first - 1] ?? "");
      left -= Math.max(1, Math.ceil(line.length / columns));
      if (left < 0) break;
    }
    return this.kept
      .slice(first)
      .map((line) => `${line}\n`)
      .join("");
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((line, index) => line === other[index]);
}
