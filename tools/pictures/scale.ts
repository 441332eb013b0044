import type { ChangeFigures, ScaleFigures, ScalePhase } from "../bench/scale";
import { escaped, SANS, type Theme } from "./themes";

const WIDTH = 960;
const PANEL = 300;
const ROW = 22;
const TOP = 56;
const LABEL = 112;
const BAR = 100;

/** One bar: what it is about, its length, and whether it is the main one of its panel. */
interface Row {
  readonly label: string;
  readonly value: number;
  readonly unit: string;
  readonly isMain: boolean;
}

/** What `npm run bench -- --scale` has measured: an SVG in one theme. */
export function scalePicture(theme: Theme, { phases, kibAnObject, machine }: ScaleFigures): string {
  const panels: [title: string, rows: Row[]][] = [
    ["A single change reaches its child", phases.flatMap(changeRows)],
    ["Memory", phases.filter(({ phase }) => phase === "grown").flatMap(memoryRows)],
    ["All objects are observed", observedRows(phases)],
  ];
  const height = TOP + ROW * Math.max(...panels.map(([, rows]) => rows.length)) + 52;
  const drawn = panels.map(([title, rows], index) => panel(theme, 24 + index * (PANEL + 6), title, rows));
  const below = `${kibAnObject.toFixed(1)} KiB of the engine's memory for an object with its child. ${machine}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="One operator from ${phases[0]?.objects} to ${phases.at(-1)?.objects} objects">
<style>text{font-family:${SANS};font-size:12px;fill:${theme.text}}.title{font-size:14px;font-weight:600}.quiet{fill:${theme.quiet}}</style>
${drawn.join("\n")}
<text x="24" y="${height - 16}" class="quiet">${escaped(below)}</text>
</svg>
`;
}

function panel(theme: Theme, x: number, title: string, rows: readonly Row[]): string {
  const most = Math.max(...rows.map(({ value }) => value), 1);
  const lines = rows.map(({ label, value, unit, isMain }, index) => {
    const y = TOP + index * ROW;
    const width = Math.max(1, (BAR * value) / most);
    return `<text x="${x + LABEL - 6}" y="${y + 11}" text-anchor="end" class="quiet">${escaped(label)}</text><rect x="${x + LABEL}" y="${y}" width="${width.toFixed(1)}" height="14" rx="2" fill="${isMain ? theme.accent : theme.border}"/><text x="${x + LABEL + width + 6}" y="${y + 11}">${escaped(`${shown(value)} ${unit}`)}</text>`;
  });
  return [`<text x="${x}" y="34" class="title">${escaped(title)}</text>`, ...lines].join("\n");
}

function changeRows({ phase, objects, atRest, inResync }: ScalePhase): Row[] {
  const grown = phase === "grown" ? figureRows(size(objects), atRest) : [];
  return inResync ? [...grown, ...figureRows(`resync, ${phase.split(": ")[1]}`, inResync)] : grown;
}

function figureRows(about: string, { p50Ms, p99Ms, serverP99Ms }: ChangeFigures): Row[] {
  return [
    { label: about, value: p50Ms, unit: "ms p50", isMain: true },
    { label: "", value: p99Ms, unit: "ms p99", isMain: false },
    { label: "", value: serverP99Ms, unit: "ms p99, server alone", isMain: false },
  ];
}

function memoryRows({ objects, engineMiB, serverMiB }: ScalePhase): Row[] {
  return [
    { label: size(objects), value: engineMiB, unit: "MiB engine", isMain: true },
    { label: "", value: serverMiB, unit: "MiB API server", isMain: false },
  ];
}

function observedRows(phases: readonly ScalePhase[]): Row[] {
  let seconds = 0;
  return phases.map(({ phase, objects, observedSeconds }) => {
    const isGrown = phase === "grown";
    if (isGrown) seconds += observedSeconds;
    return {
      label: isGrown ? `${size(objects)} new` : phase.replace("ask: ", ""),
      value: isGrown ? seconds : observedSeconds,
      unit: "s",
      isMain: !isGrown,
    };
  });
}

function size(objects: number): string {
  return objects.toLocaleString("en-US");
}

function shown(value: number): string {
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
}
