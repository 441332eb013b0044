import type { Effects } from "./oracle";

/**
 * Reads a ledger: a line of JSON for each effect of the handler outside of Kubernetes, `{"key":"<uid>/<generation>","value":7}`.
 * An incomplete line is ignored until it is complete.
 */
export function parseLedger(text: string): Effects {
  const effects = new Map<string, { acts: number; values: Set<number> }>();
  for (const line of text.split("\n")) {
    if (!line.endsWith("}")) continue;
    const { key, value } = JSON.parse(line) as { key: string; value: number };
    const known = effects.get(key) ?? { acts: 0, values: new Set() };
    known.acts += 1;
    known.values.add(value);
    effects.set(key, known);
  }
  return effects;
}

/** The effects with other keys than these, so that the effects of one form remain if two forms share a ledger. */
export function withoutKeys(effects: Effects, keys: Pick<Effects, "has">): Effects {
  return new Map([...effects].filter(([key]) => !keys.has(key)));
}
