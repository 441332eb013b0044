/**
 * The candidate that a mistyped word most likely means. Undefined if none is close.
 * @param letters how many letters may differ at most.
 * @default as many as in a typing mistake
 */
export function nearest(
  word: string,
  candidates: readonly string[],
  letters = Number.POSITIVE_INFINITY,
): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    // A word that differs in more than two of five letters (or two in all) is another word and no mistake: "childs" means
    // "children". If no letter is the same, no candidate was meant: "1" is two letters from "on".
    const longest = Math.max(word.length, candidate.length);
    const most = Math.min(letters, Math.max(2, Math.floor(0.4 * longest)), longest - 1);
    if (distance <= most && distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** "Did you mean children?" for a mistyped word, or other advice if no candidate is close. */
export function didYouMean(word: string, candidates: readonly string[], otherwise: string): string {
  const meant = nearest(word, candidates);
  return meant === undefined ? otherwise : `Did you mean ${meant}?`;
}

/** Levenshtein's distance: how many letters to insert, delete or replace to come from one word to the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
