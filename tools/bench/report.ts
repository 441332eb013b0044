import { cpus, totalmem } from "node:os";
import { figureNames, medianFigures, medianRatios, type RoundFigures, type RunFigures } from "./figures";
import { cpuMethod, memoryMethod } from "./processes";

/** The work that every operator did. */
export interface Work {
  /** Objects created one by one. */
  readonly objects: number;
  /** Objects created all at once. */
  readonly burst: number;
  readonly rounds: number;
}

const headings: Readonly<Record<keyof RoundFigures, string>> = {
  p50Ms: "p50 ms",
  p99Ms: "p99 ms",
  burstP99Ms: "burst p99 ms",
  perSecond: "changes/s",
  operatorCpuMs: "CPU ms",
  serverCpuMs: "API server ms",
  idleMiB: "idle MiB",
  loadedMiB: "loaded MiB",
};

/** The machine, in a line, because figures of two machines are not comparable. */
export function describeMachine(): string {
  const processors = cpus();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const model = processors[0]?.model.trim() || "unknown processor";
  return `${processors.length} x ${model}, ${memory}, ${process.platform} ${process.arch}, Node ${process.version}`;
}

/** The table, with Argosy's figures divided by each peer's below it. */
export function formatTable(runs: readonly RunFigures[], work: Work, machine: string): string {
  const argosy = runs.find(({ name }) => name === "argosy");
  const peers = argosy ? runs.filter((run) => run !== argosy) : [];
  const rows = [
    ["", ...figureNames.map((name) => headings[name])],
    ...runs.map((run) => {
      const medians = medianFigures(run.rounds);
      return [run.name, ...figureNames.map((name) => formatFigure(medians[name]))];
    }),
  ];
  if (argosy && peers.length > 0) {
    rows.push([], ["argosy's figure / peer's"]);
    for (const peer of peers) {
      const ratio = medianRatios(argosy.rounds, peer.rounds);
      rows.push([peer.name, ...figureNames.map((name) => ratio[name].toFixed(2))]);
    }
  }
  return [...alignColumns(rows), "", ...explain(work, machine)].join("\n");
}

/** The figures for programs: one line of JSON, with the medians and each round. */
export function formatJson(runs: readonly RunFigures[], machine: string): string {
  return toJson({ runs: runs.map((run) => ({ ...run, ...medianFigures(run.rounds) })), machine });
}

/** One line of JSON, its numbers rounded to two places. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === "number" ? Math.round(each * 100) / 100 : each,
  );
}

function explain({ objects, burst, rounds }: Work, machine: string): string[] {
  return [
    `p50, p99: from just before the create call to the Deployment, ${objects} Memcacheds one by one.`,
    `burst p99, changes/s: ${burst} Memcacheds created at once.`,
    `CPU, API server: CPU time for each of the ${burst}, until all work for them was done; ${cpuMethod}.`,
    `memory: ${memoryMethod}; idle before the first object, loaded with the ${burst}.`,
    `Medians of ${rounds} ${rounds === 1 ? "round" : "rounds"} on one API server, one operator at a time. Ratios are the ` +
      `medians of each round's ratios. ${machine}`,
  ];
}

/** Three significant digits, or all digits before the point. */
export function formatFigure(value: number): string {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(value, 0.01))));
  return value.toFixed(digits);
}

/** Rows as lines. The first column is aligned to the left, and the others to the right. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const width = (column: number): number => Math.max(...rows.map((row) => (row[column] ?? "").length));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(width(column)) : cell.padStart(width(column) + 2)))
      .join("")
      .trimEnd(),
  );
}
