import { compareTexts } from "../../runtime/base/text";
import { formatDuration, numbered, type Style, safe } from "../common/terminal";

/** An object as a line of the table. */
export interface ObjectRow {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  /** Its Ready condition, according to the runs of this process. */
  readonly ready: "True" | "False" | "Unknown";
  /** Its reason, in one word. A message is never shown, because it may contain text of others. */
  readonly reason: string;
  /** The next step: "running 7 s", "try 4 in 8 s". Empty if there is none until something changes. */
  readonly next: string;
  /** Undefined if no run has judged them. */
  readonly children?: { readonly ready: number; readonly total: number } | undefined;
  /** How long ago the last run ended, and how long it took, in milliseconds. Undefined if there was none. */
  readonly lastRun?: { readonly agoMs: number; readonly tookMs: number } | undefined;
}

interface Column {
  readonly heading: string;
  readonly cell: (row: ObjectRow) => string;
  /** @default as it is */
  readonly colour?: (row: ObjectRow) => Parameters<Style>[0] | undefined;
  /** The column is cut to this width before another column is left out. @default it is never cut */
  readonly leastWidth?: number;
}

const OBJECT: Column = {
  heading: "OBJECT",
  cell: ({ kind, name }) => safe(`${kind.toLowerCase()}/${name}`),
  colour: () => "bold",
  leastWidth: 24,
};
const NAMESPACE: Column = { heading: "NAMESPACE", cell: ({ namespace = "" }) => namespace, leastWidth: 12 };
const READY: Column = {
  heading: "READY",
  cell: ({ ready }) => ready,
  colour: ({ ready }) => (ready === "True" ? "green" : ready === "False" ? "red" : "dim"),
};
const REASON: Column = { heading: "REASON", cell: ({ reason }) => reason };
const CHILDREN: Column = {
  heading: "CHILDREN",
  cell: ({ children }) => (children ? `${children.ready}/${children.total}` : ""),
};
const NEXT: Column = { heading: "NEXT", cell: ({ next }) => next, colour: () => "yellow" };
const LAST_RUN: Column = {
  heading: "LAST RUN",
  cell: ({ lastRun }) => (lastRun ? formatAge(lastRun.agoMs) : ""),
  colour: () => "dim",
};
const TOOK: Column = {
  heading: "TOOK",
  cell: ({ lastRun }) => (lastRun ? formatDuration(lastRun.tookMs) : ""),
  colour: () => "dim",
};

/** The columns that a narrow terminal leaves out, in this order. */
const EXPENDABLE = [TOOK, LAST_RUN, CHILDREN, NEXT, NAMESPACE, READY];
const GAP = "  ";

/**
 * The objects as lines of a terminal: those that are not Ready first, and one line at the end for those without room. A narrow
 * terminal leaves out columns, and then cuts names.
 *
 * @param width the most columns of a line
 * @param height the most lines
 * @returns no lines if there are no objects, or no height
 */
export function renderTable(
  rows: readonly ObjectRow[],
  width: number,
  height: number,
  style: Style,
): string[] {
  if (rows.length === 0 || height < 1 || width < 1) return [];
  const ordered = [...rows].sort(inOrder);
  const fits = rows.length + 1 <= height;
  const shown = fits ? ordered : ordered.slice(0, Math.max(0, height - 2));
  const rest = fits ? [] : [style("dim", cut(formatRest(ordered.slice(shown.length), shown.length), width))];
  if (shown.length === 0) return rest;
  const columns = columnsFor(shown, width);
  const widths = widthsOf(columns, shown, width);
  const line = (cells: readonly string[], format: (text: string, column: number) => string) =>
    cells
      .map((text, column) => {
        const room = widths[column] ?? 0;
        const cell = cut(text, room);
        // The last column is not padded.
        const padding = column === cells.length - 1 ? "" : " ".repeat(room - cell.length);
        return cell === "" ? padding : format(cell, column) + padding;
      })
      .join(GAP)
      .trimEnd();
  return [
    line(
      columns.map(({ heading }) => heading),
      (text) => style("dim", text),
    ),
    ...shown.map((row) =>
      line(
        columns.map(({ cell }) => cell(row)),
        (text, column) => {
          const colour = columns[column]?.colour?.(row);
          return colour ? style(colour, text) : text;
        },
      ),
    ),
    ...rest,
  ];
}

/** Sorts objects that are not Ready first, and otherwise by name, so that lines stay in their places. */
function inOrder(one: ObjectRow, other: ObjectRow): number {
  const rank = (row: ObjectRow) => (row.ready === "True" ? 1 : 0);
  return rank(one) - rank(other) || compareTexts(nameOf(one), nameOf(other));
}

function nameOf({ kind, namespace = "", name }: ObjectRow): string {
  return `${kind}/${namespace}/${name}`;
}

/** The columns that fit and are not empty. */
function columnsFor(rows: readonly ObjectRow[], width: number): Column[] {
  const namespaces = new Set(rows.map(({ namespace }) => namespace));
  const all = [OBJECT, NAMESPACE, READY, REASON, CHILDREN, NEXT, LAST_RUN, TOOK];
  let columns = all.filter((column) => {
    if (column === NAMESPACE) return namespaces.size > 1;
    return rows.some((row) => column.cell(row) !== "");
  });
  for (const expendable of EXPENDABLE) {
    const least = columns.reduce((sum, column) => sum + leastWidthOf(column, rows) + GAP.length, -GAP.length);
    if (least <= width) break;
    columns = columns.filter((column) => column !== expendable);
  }
  return columns;
}

function naturalWidthOf({ heading, cell }: Column, rows: readonly ObjectRow[]): number {
  return Math.max(heading.length, ...rows.map((row) => cell(row).length));
}

function leastWidthOf(column: Column, rows: readonly ObjectRow[]): number {
  return Math.min(naturalWidthOf(column, rows), column.leastWidth ?? Number.POSITIVE_INFINITY);
}

/** The width of each column. Names are cut first. If that is not enough, each column is cut, from the first on. */
function widthsOf(columns: readonly Column[], rows: readonly ObjectRow[], width: number): number[] {
  const widths = columns.map((column) => naturalWidthOf(column, rows));
  let excess =
    widths.reduce((sum, each) => sum + each, 0) + GAP.length * (columns.length - 1) - Math.max(width, 0);
  const giveWay = (least: (column: Column) => number) => {
    columns.forEach((column, index) => {
      const given = Math.min(Math.max(0, excess), Math.max(0, (widths[index] ?? 0) - least(column)));
      widths[index] = (widths[index] ?? 0) - given;
      excess -= given;
    });
  };
  giveWay((column) => leastWidthOf(column, rows));
  giveWay(() => SHORTEST);
  giveWay(() => 0);
  return widths;
}

/** A name that is cut shorter than this is useless. */
const SHORTEST = 8;

function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  return width < 1 ? "" : `${text.slice(0, width - 1)}…`;
}

/** "and 97 more: 95 Ready, 2 not". */
function formatRest(rest: readonly ObjectRow[], shown: number): string {
  const ready = rest.filter((row) => row.ready === "True").length;
  const not = rest.length - ready;
  const count = shown > 0 ? `and ${rest.length} more` : numbered(rest.length, "object", "objects");
  if (not === 0) return `${count}, Ready`;
  if (ready === 0) return `${count}, not Ready`;
  return `${count}: ${ready} Ready, ${not} not`;
}

/** How long ago something happened, in the largest unit, so that the text seldom changes: "12 s ago". */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 1) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ago` : `${Math.floor(minutes / 60)} h ago`;
}
