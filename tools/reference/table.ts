/** A table of Markdown. A bar in a cell is escaped, and a line break becomes a space. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/\s+/g, " ").replaceAll("|", "\\|")).join(" | ")} |\n`;
  return [line(columns), line(columns.map(() => "---")), ...rows.map(line)].join("");
}

/** Text as code, or nothing for nothing. */
export function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

/** A sentence: with a capital letter and a full stop. */
export function sentence(text: string): string {
  const begun = `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`;
  return /[.:!?]$/.test(begun) || begun === "" ? begun : `${begun}.`;
}
