import { CATALOGUE, type Entry } from "./catalogue";

/** The tables of docs/errors.md, one for each group of the catalogue. */
export function errorTables(): string {
  return Object.entries<Readonly<Record<string, Entry>>>(CATALOGUE)
    .map(([title, group]) => `## ${title[0]?.toUpperCase()}${title.slice(1)}\n\n${tableOf(group)}`)
    .join("\n");
}

function tableOf(group: Readonly<Record<string, Entry>>): string {
  const rows = Object.entries(group).map(
    ([code, { happened, look, remedy }]) => `| \`${code}\` | ${happened} | ${look} | ${remedy} |\n`,
  );
  return `| code | what happened | where to look | what to do |\n| --- | --- | --- | --- |\n${rows.join("")}`;
}
