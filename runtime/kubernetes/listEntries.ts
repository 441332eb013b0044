import { isRecord } from "../json/json";

/** The values of some fields of an entry of a list. Undefined: the entry does not have the field. */
type Keys = Readonly<Record<string, unknown>>;

/**
 * The entries of one list, as `fieldsV1` names them: by their keys (`k:`), or by their values (`v:`).
 *
 * Guarantee (tests/unit/ownedValues.test.ts): to find an entry takes no look at all the others. The author of an object may cause
 * tens of thousands of entries in one of its children.
 */
export class ListEntries {
  private values: ReadonlySet<unknown> | undefined;
  /** The first entry with each text of its keys, by the names of these keys. */
  private readonly byKeys = new Map<string, ReadonlyMap<string, unknown>>();

  constructor(private readonly list: readonly unknown[]) {}

  /** Whether the list has a value that is neither a map nor a list. */
  has(value: unknown): boolean {
    this.values ??= new Set(this.list);
    return this.values.has(value);
  }

  /** The first entry with these keys. Undefined if there is none. */
  withKeys(keys: Keys): unknown {
    const names = Object.keys(keys);
    const id = names.join("\n");
    const known = this.byKeys.get(id) ?? this.index(names);
    this.byKeys.set(id, known);
    return known.get(textOf(keys, names));
  }

  private index(names: readonly string[]): ReadonlyMap<string, unknown> {
    const entries = new Map<string, unknown>();
    for (const entry of this.list) {
      if (!isRecord(entry)) continue;
      const text = textOf(entry, names);
      if (!entries.has(text)) entries.set(text, entry);
    }
    return entries;
  }
}

/** The values of these fields as one text. A map or a list is not a key. */
function textOf(entry: Keys, names: readonly string[]): string {
  const texts = names.map((name) => {
    const value = entry[name];
    return typeof value === "object" && value !== null ? "{}" : (JSON.stringify(value) ?? "");
  });
  return texts.join("\n");
}
