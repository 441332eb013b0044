import { escaped, MONO, SANS, type Theme } from "./themes";

const WIDTH = 960;
const HEIGHT = 404;

/** The way of a change: from a custom resource to its children, its status and its record. An SVG in one theme. */
export function pathPicture(theme: Theme): string {
  const { text, quiet, line, surface, border, accent, accentSurface, option, optionSurface } = theme;
  const says = (x: number, y: number, words: string, style = "") =>
    `<text x="${x}" y="${y}" ${style}>${escaped(words)}</text>`;
  const box = (
    x: number,
    y: number,
    width: number,
    height: number,
    fill: string,
    stroke: string,
    dashes = "",
  ) =>
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="10" fill="${fill}" stroke="${stroke}" ${dashes}/>`;
  const arrow = (way: string, colour: string, dashes = "") =>
    `<path d="${way}" fill="none" stroke="${colour}" stroke-width="1.75" marker-end="url(#${colour === option ? "option" : "end"})" ${dashes}/>`;
  const tip = (id: string, colour: string) =>
    `<marker id="${id}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0 8 4 0 8Z" fill="${colour}"/></marker>`;
  const dashed = 'stroke-dasharray="5 4"';
  const small = 'class="small"';
  const middle = 'class="small" text-anchor="middle"';
  const title = `class="title"`;
  const parts = [
    tip("end", line),
    tip("option", option),

    box(16, 140, 200, 152, surface, border),
    says(32, 166, "Custom resource", title),
    says(32, 190, "kind: Memcached", 'class="mono"'),
    says(32, 208, "spec:", 'class="mono"'),
    says(32, 226, "  size: 3", 'class="mono"'),
    says(32, 244, "status:", 'class="mono"'),
    says(32, 262, "  ready: 3", 'class="mono"'),
    says(32, 280, "  conditions: [Ready]", 'class="mono"'),

    box(236, 16, 330, 74, optionSurface, option, dashed),
    says(252, 40, "Argo Events", `class="title" fill="${option}"`),
    says(252, 62, "event source  →  event bus  →  sensor", small),
    says(252, 80, "webhooks, GitHub and queues too", small),
    arrow("M116 140 V53 H234", option, dashed),
    arrow("M566 53 H596 V126", option, dashed),
    says(606, 60, "an event is a hint", small),

    box(372, 128, 300, 176, accentSurface, accent),
    says(388, 152, "Runner", `class="title" fill="${accent}"`),
    box(388, 166, 118, 122, surface, border),
    says(447, 190, "Engine", 'class="title" text-anchor="middle"'),
    ...["reads, asks,", "checks, applies,", "prunes, retries,", "reports"].map((words, index) =>
      says(447, 212 + index * 18, words, middle),
    ),
    box(564, 166, 94, 122, surface, accent),
    says(611, 190, "Handler", 'class="title" text-anchor="middle"'),
    says(611, 214, "your code,", middle),
    says(611, 232, "any language", middle),
    says(611, 256, "main.py", 'class="mono" text-anchor="middle"'),
    arrow("M508 206 H561", line),
    says(535, 199, "object", middle),
    arrow("M562 248 H509", line),
    says(535, 266, "children", middle),

    arrow("M218 184 H369", line),
    says(293, 176, "its own watch", middle),
    arrow("M370 254 H219", line),
    says(293, 272, "status, Events", middle),

    box(760, 140, 184, 152, surface, border),
    says(776, 166, "Children", title),
    says(776, 190, "Deployment", 'class="mono"'),
    says(776, 208, "Service", 'class="mono"'),
    says(776, 226, "ConfigMap ...", 'class="mono"'),
    says(776, 256, "deleted with the object,", small),
    says(776, 274, "restored if edited", small),
    arrow("M674 184 H757", line),
    says(716, 176, "applies", middle),
    arrow("M758 254 H675", line),
    says(716, 272, "watches", middle),

    box(372, 340, 300, 52, optionSurface, option, dashed),
    says(388, 362, "Argo Workflows", `class="title" fill="${option}"`),
    says(388, 381, "a record of each run: UI, logs, replay", small),
    arrow("M447 306 V338", option, dashed),
    says(690, 371, "dashed: can be left out", small),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="title">
<title id="title">The way of a change: custom resource, watch and Argo Events, runner with engine and handler, children, status, and a record in Argo Workflows</title>
<style>
text { font: 15px ${SANS}; fill: ${text}; white-space: pre }
.title { font-weight: 600 }
.title[fill="${accent}"] { fill: ${accent} }
.title[fill="${option}"] { fill: ${option} }
.small { font-size: 13px; fill: ${quiet} }
.mono { font: 13px ${MONO} }
</style>
${parts.join("\n")}
</svg>
`;
}
