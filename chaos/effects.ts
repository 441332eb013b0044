import type { Effects } from "./oracle";

/**
 * Reads a ledger: a line of JSON for each thing that the handler did outside, `{"id":"<uid>/<generation>","value":7}`.
 * A line that is not whole yet is left for later.
 */
export function parseLedger(text: string): Effects {
  const effects = new Map<string, { acts: number; values: Set<number> }>();
  for (const line of text.split("\n")) {
    if (!line.endsWith("}")) continue;
    const { id, value } = JSON.parse(line) as { id: string; value: number };
    const known = effects.get(id) ?? { acts: 0, values: new Set() };
    known.acts += 1;
    known.values.add(value);
    effects.set(id, known);
  }
  return effects;
}

/** What was done under other ids than these: of one form alone, where two share a ledger. */
export function withoutIds(effects: Effects, ids: Pick<Effects, "has">): Effects {
  return new Map([...effects].filter(([id]) => !ids.has(id)));
}
