import { isGranting } from "../../definition/checkGrants";
import { didYouMean } from "../../definition/nearest";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/base/objects";
import { kindKey, kindOfKey } from "../../runtime/base/resource";
import { grantsOf, nameOf, THINGS, thingNamed, usageOf } from "../add/entries";
import { rewriteDefinition } from "../add/rewriteDefinition";
import { isAliased, onlyDocument, withEntry, withoutEntry } from "../add/yamlEntry";
import { asTyped } from "../common/asTyped";
import { CommandError, EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { operatorsOptions } from "../common/options";
import { findHandlers, loadChosen, loaderOf } from "../common/project";
import { print } from "../common/terminal";

/**
 * `argosy remove`: removes an entry from an operator's definition, and says which rights its accounts lose. A kind of children is
 * retired first.
 * @throws UsageError for something that cannot be removed; CommandError if it is not there; OperatorError if the definition would
 * be wrong
 */
export default command({
  description:
    "Removes an entry from an operator's operator.yaml, and says which rights the operator's accounts lose. Comments of other " +
    "entries stay. A kind of children is retired first, so that the objects that are left of it are deleted; the same command " +
    `removes it then. Write:\n${Object.keys(THINGS)
      .map((what) => `  ${usageOf(what, "remove")}`)
      .join("\n")}`,
  arguments: [
    ["<what>", Object.keys(THINGS).join(", ")],
    ["<words...>", "the operator's name, and the entry to remove"],
  ],
  options: operatorsOptions(),
  async run(what, [name = "", ...words], options) {
    const { field } = thingNamed(what, "remove");
    const [operator] = name === "" ? [] : loadChosen(loaderOf(findHandlers(options)), [name]);
    const [first = "", ...others] = words;
    // A right is named by two words.
    const rights = field === "rules" || field === "grants" ? grantsOf(words) : undefined;
    if (!operator || first === "" || (others.length > 0 && !rights))
      throw new UsageError(`Write: ${usageOf(what, "remove")}`);
    const names = rights?.map(nameOf) ?? [first];
    const siblings = operator.children.filter((each) => kindKey(each) !== first);
    const retires =
      field === "children" && !operator.children.some((each) => each.retired && kindKey(each) === first);
    // Grants are not valid without a kind of children that needs them.
    const ungrants = retires && isGranting(kindOfKey(first)) && !siblings.some(isGranting);
    await rewriteDefinition(
      operator,
      (text, document, file) => {
        if (isAliased(document, field))
          throw new CommandError(
            `${file}: an alias stands for ${field}. Write it out in the place of the alias.`,
          );
        const definition = document.toJS() as JsonObject;
        const grants = ungrants ? namesIn(definition.grants) : [];
        const removed = [...names.map((each) => [field, each]), ...grants.map((each) => ["grants", each])];
        const left = removed.reduce(
          (lines, [where = "", each = ""]) => without(lines, where, each, file),
          text,
        );
        if (!retires) return left;
        const entry = (definition.children as readonly Json[])[namesIn(definition.children).indexOf(first)];
        const { update: _, ...kind }: JsonObject = isJsonObject(entry) ? entry : { ...kindOfKey(first) };
        return withEntry(left, onlyDocument(left), { field, value: { ...kind, retired: true } });
      },
      retires
        ? `Retired ${first}${ungrants ? " and removed grants" : ""}: the objects that are left of it are deleted after the next deployment.`
        : `Removed ${names.join(" and ")} from ${field}.`,
    );
    if (retires)
      print(`When none is left, remove the entry: ${asTyped(`remove child ${name} ${first}`, options)}`);
    return EXIT_CODES.fine;
  },
});

/** The text without an entry. @throws CommandError if there is none with this name, or if an alias refers to it */
function without(text: string, field: string, name: string, file: string): string {
  const document = onlyDocument(text);
  const there = (document.toJS() as JsonObject)[field];
  const names = namesIn(there);
  const index = names.indexOf(name);
  if (index < 0) {
    const all = names.length > 0 ? `It has: ${names.join(", ")}.` : "It is empty.";
    throw new CommandError(`${file}: ${field} has no ${name}. ${didYouMean(name, names, all)}`);
  }
  const left = withoutEntry(text, document, field, Array.isArray(there) ? index : name);
  if (left !== undefined) return left;
  throw new CommandError(
    `${file}: an alias refers to ${name} in ${field}. Write it out in the place of the alias.`,
  );
}

/** What the entries of a field are called. */
function namesIn(there: Json | undefined): string[] {
  if (Array.isArray(there)) return there.map(nameOf);
  return isJsonObject(there) ? Object.keys(there) : [];
}
