import { z } from "zod";
import { didYouMean } from "../../definition/nearest";
import { EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { type JsonPrinter, jsonOption } from "../common/options";
import { indent, print, styleFor } from "../common/terminal";
import { CATALOGUE, CODES, codeFor, ENTRY, type Entry, entryOf } from "../errors/catalogue";

const style = styleFor(process.stdout);
const CODE = z.strictObject({ code: z.string(), ...ENTRY.shape });

/**
 * `argosy errors [CODE]`: what a code means, where to look and what to do; without a code, all of them.
 * @throws UsageError for a word that is no code
 */
export default command({
  description:
    "Explains a code, such as the reason of a Ready condition or of a Warning Event: what happened, where to look and " +
    "what to do. Without a code, it lists all codes.",
  arguments: [["[code]", "for example HandlerCrashed (default: all)"]],
  options: [jsonOption(CODE, "print a line of JSON for each code")],
  async run(word, { json }) {
    if (word === undefined) list(json);
    else tell(word, json);
    return EXIT_CODES.fine;
  },
});

function list(json?: JsonPrinter<typeof CODE>): void {
  for (const [title, group] of Object.entries<Readonly<Record<string, Entry>>>(CATALOGUE)) {
    if (!json) print(`${style("bold", `${title}:`)}`);
    for (const [code, entry] of Object.entries(group)) {
      if (json) json({ code, ...entry });
      else print(`  ${code.padEnd(21)}${entry.happened}`);
    }
  }
  if (!json) print("argosy errors CODE shows where to look and what to do.");
}

function tell(word: string, json?: JsonPrinter<typeof CODE>): void {
  const code = codeFor(word);
  const entry = entryOf(code);
  if (!entry) {
    const advice = didYouMean(word, CODES, "argosy errors lists all codes.");
    throw new UsageError(`There is no code ${word}. ${advice} The code may be a handler's own reason.`);
  }
  if (json) return json({ code, ...entry });
  print(style("bold", code));
  const parts = [
    ["what happened", entry.happened],
    ["where to look", entry.look],
    ["what to do", entry.remedy],
  ] as const;
  for (const [title, text] of parts) print(`  ${title}\n${indent(text)}`);
}
