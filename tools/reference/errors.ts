import { CATALOGUE, type Entry } from "../../cli/errors/catalogue";
import { code, table } from "./table";

const INTRODUCTION = `# Errors

Each failure has a code: one word, the same in the Ready condition, in the Event, in the recorded run and in the metrics.
\`argosy errors CODE\` prints the row of a code. A handler's own conditions and Events have reasons of its own, which are not here.

The message next to the code names the object, the field and the API server's own words. Problems of files begin with
\`FILE:LINE:COLUMN\`. \`argosy explain\` shows which code an object has, and the handler's last words.
`;

/** docs/reference/errors.md: a table for each group of the catalogue. */
export function errorsPage(): string {
  const sections = Object.entries<Readonly<Record<string, Entry>>>(CATALOGUE).map(
    ([title, group]) => `## ${title[0]?.toUpperCase()}${title.slice(1)}\n\n${rowsOf(group)}`,
  );
  return [INTRODUCTION, ...sections].join("\n");
}

function rowsOf(group: Readonly<Record<string, Entry>>): string {
  const rows = Object.entries(group).map(([name, { happened, look, remedy }]) => [
    code(name),
    happened,
    look,
    remedy,
  ]);
  return table(["code", "what happened", "where to look", "what to do"], rows);
}
