import type { Document } from "yaml";
import { isJsonObject, type JsonObject } from "../../runtime/base/objects";
import { grantsOf, nameOf, OPTIONS, OWN_OPTIONS, THINGS, thingNamed, usageOf } from "../add/entries";
import { rewriteDefinition } from "../add/rewriteDefinition";
import { type Entry, isAliased, onlyDocument, withEntry } from "../add/yamlEntry";
import { CommandError, EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { findHandlers, loadChosen, loaderOf } from "../common/project";
import { print } from "../common/terminal";

/**
 * `argosy add`: adds an entry to an operator's definition, and says which rights its accounts gain. Nothing is written if the
 * definition would be wrong.
 * @throws UsageError for something that cannot be added; OperatorError if the definition would be wrong
 */
export default command({
  description:
    "Adds an entry to an operator's operator.yaml, and says which rights the operator's accounts gain. Comments stay. Nothing " +
    `is written if the definition would not be valid. Write:\n${Object.keys(THINGS)
      .map((what) => `  ${usageOf(what, "add")}`)
      .join("\n")}`,
  arguments: [
    ["<what>", Object.keys(THINGS).join(", ")],
    ["<words...>", "the operator's name, and the entry to add"],
  ],
  options: OPTIONS,
  async run(what, [name = "", ...words], options) {
    const { field, ...thing } = thingNamed(what, "add");
    const wrong = new UsageError(`Write: ${usageOf(what, "add")}`);
    if (name === "") throw wrong;
    const foreign = OWN_OPTIONS.find(
      ([option]) => options[option] !== undefined && !thing.options.includes(option),
    );
    if (foreign) throw new UsageError(`argosy add ${what} has no option ${foreign[1]}. ${wrong.message}`);
    const [operator] = loadChosen(loaderOf(findHandlers(options)), [name]);
    const entries = operator && thing.entriesOf(words, options, operator);
    const grants = options.grants === undefined ? [] : grantsOf([options.grants]);
    if (!operator || !entries || !grants) throw wrong;
    const added: readonly Entry[] = [
      ...entries.map((entry) => ({ field, ...entry })),
      ...grants.map((value) => ({ field: "grants", value })),
    ];
    const names = entries.map(({ key, value }) => key ?? nameOf(value)).join(" and ");
    await rewriteDefinition(
      operator,
      (text, before, file) => {
        for (const entry of added) refuseEntry(entry, before, file);
        return added.reduce((lines, entry) => withEntry(lines, onlyDocument(lines), entry), text);
      },
      `Added ${names} to ${field}.`,
    );
    if (thing.advice) print(thing.advice(words));
    return EXIT_CODES.fine;
  },
});

/** @throws CommandError if the entry exists already, or cannot be added */
function refuseEntry({ field, key, value }: Entry, document: Document, file: string): void {
  if (isAliased(document, field))
    throw new CommandError(`${file}: an alias stands for ${field}. Write it out in the place of the alias.`);
  const there = (document.toJS() as JsonObject)[field];
  const isThere =
    key === undefined
      ? Array.isArray(there) && there.some((each) => nameOf(each) === nameOf(value))
      : isJsonObject(there) && Object.hasOwn(there, key);
  if (isThere) throw new CommandError(`${file}: ${field} already has ${key ?? nameOf(value)}.`);
}
