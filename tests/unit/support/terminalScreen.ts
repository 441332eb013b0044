import { EventEmitter } from "node:events";

/**
 * What a terminal shows, as far as plain text, line ends and the escape sequences of `Footer` go. It does not reflow lines in
 * another size, as xterm does not.
 */
export class TerminalScreen extends EventEmitter {
  /** Every write. */
  readonly writes: string[] = [];
  /** The lines that scrolled out at the top. */
  readonly scrolled: string[] = [];
  readonly cursor = { row: 0, column: 0 };
  private cells: string[];

  constructor(
    public columns: number,
    public rows: number,
  ) {
    super();
    this.cells = Array.from({ length: rows }, () => "");
  }

  /** The rows, without spaces at their ends. */
  get lines(): string[] {
    return this.cells.map((line) => line.trimEnd());
  }

  /** The rows that have something in them. */
  get text(): string[] {
    return this.lines.filter((line) => line !== "");
  }

  resize(columns: number, rows: number): void {
    this.columns = columns;
    this.rows = rows;
    const tooMany = Math.max(0, this.cursor.row - rows + 1);
    this.scrolled.push(...this.cells.splice(0, tooMany));
    this.cursor.row -= tooMany;
    this.cells = Array.from({ length: rows }, (_, row) => (this.cells[row] ?? "").slice(0, columns));
    this.emit("resize");
  }

  write(text: string): void {
    this.writes.push(text);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what a terminal reads
    for (const [token] of text.matchAll(/\u001b\[[0-?]*[a-zA-Z]|[\s\S]/g)) {
      if (token.startsWith("\u001b")) this.escape(token);
      else this.put(token);
    }
  }

  private escape(sequence: string): void {
    const { cursor, cells } = this;
    const up = /^.\[(\d+)A$/.exec(sequence)?.[1];
    if (up !== undefined) cursor.row = Math.max(0, cursor.row - Number(up));
    else if (sequence === "\u001b[H") Object.assign(cursor, { row: 0, column: 0 });
    else if (sequence === "\u001b[2K") cells[cursor.row] = "";
    else if (sequence === "\u001b[J") {
      cells[cursor.row] = (cells[cursor.row] ?? "").slice(0, cursor.column);
      cells.fill("", cursor.row + 1);
    } else if (!/^.\[\?2026[hl]$/.test(sequence))
      throw new Error(`unknown sequence ${JSON.stringify(sequence)}`);
  }

  private put(character: string): void {
    const { cursor, cells } = this;
    if (character === "\r") cursor.column = 0;
    else if (character === "\n") this.newLine();
    else {
      if (cursor.column === this.columns) this.newLine();
      const line = (cells[cursor.row] ?? "").padEnd(cursor.column);
      cells[cursor.row] = line.slice(0, cursor.column) + character + line.slice(cursor.column + 1);
      cursor.column++;
    }
  }

  private newLine(): void {
    const { cursor, cells } = this;
    cursor.column = 0;
    if (cursor.row + 1 < this.rows) cursor.row++;
    else {
      this.scrolled.push(cells.shift() ?? "");
      cells.push("");
    }
  }
}
