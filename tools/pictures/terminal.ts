import { escaped, MONO, type Theme } from "./themes";

/** A step of a recorded run, as `argosy start --json` prints it. */
export interface RecordedStep {
  readonly title: string;
  /** What was seen. */
  readonly seen: string;
  readonly durationMs: number;
}

const WIDTH = 960;
const LEFT = 20;
const TOP = 60;
const LINE = 23;
/** Letters of 12 pixels in a line, but for the mark and the time. */
const MOST_LETTERS = 110;
/** How long the whole picture stays before it begins again. */
const REST_SECONDS = 8;

/**
 * A terminal in which a recorded run of `npm start` goes on in its own time. For a reader who wants no motion, all of it is
 * there at once.
 */
export function terminalPicture(theme: Theme, steps: readonly RecordedStep[]): string {
  const { text, quiet, good, border, window } = theme;
  const ends = steps.map((_, index) =>
    steps.slice(0, index + 1).reduce((sum, { durationMs }) => sum + durationMs / 1000, 0),
  );
  const total = ends.at(-1) ?? 0;
  const cycle = total + REST_SECONDS;
  const appears = (index: number, at: number) => {
    const percent = (100 * at) / cycle;
    return `@keyframes at${index} { 0%, ${percent.toFixed(2)}% { opacity: 0 } ${(percent + 0.01).toFixed(2)}%, 100% { opacity: 1 } }
.at${index} { animation: at${index} ${cycle.toFixed(1)}s step-end infinite }`;
  };
  const y = (row: number) => TOP + row * LINE;
  const lines = steps.map(({ title, seen, durationMs }, index) => {
    const time = `${durationMs} ms`.padStart(8);
    const words = shortened(seen, MOST_LETTERS - title.length);
    const rest = words === "" ? "" : `: <tspan class="quiet">${escaped(words)}</tspan>`;
    return `<text class="at${index}" x="${LEFT}" y="${y(index + 1)}"><tspan class="good">✔</tspan> <tspan class="quiet">${time}</tspan>  ${escaped(title)}${rest}</text>`;
  });
  const last = steps.length;
  const height = y(last + 2) + 20;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">
<title id="title">A recorded run of npm start: ${steps.length} steps in ${total.toFixed(1)} seconds, from the creation of a custom resource to its deletion</title>
<style>
text { font: 12px ${MONO}; fill: ${text}; white-space: pre }
.quiet { fill: ${quiet} }
.good { fill: ${good} }
@media (prefers-reduced-motion: no-preference) {
${[...ends.map((end, index) => appears(index, end)), appears(last, total)].join("\n")}
}
</style>
<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="10" fill="${window}" stroke="${border}"/>
${["#ff5f57", "#febc2e", "#28c840"].map((colour, index) => `<circle cx="${LEFT + 4 + index * 18}" cy="20" r="5" fill="${colour}"/>`).join("\n")}
<text x="${LEFT}" y="${y(0)}"><tspan class="quiet">$</tspan> npm start</text>
${lines.join("\n")}
<text class="at${last}" x="${LEFT}" y="${y(last + 2)}"><tspan class="good">${steps.length} steps held</tspan>, in ${total.toFixed(1)} s</text>
</svg>
`;
}

/** Cut at the end of a word, or nothing if not even two words have room. */
function shortened(words: string, most: number): string {
  if (words.length <= most) return words;
  const cut = words
    .slice(0, most - 4)
    .replace(/\S*$/, "")
    .trimEnd();
  return cut.includes(" ") ? `${cut} ...` : "";
}
