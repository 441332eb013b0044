/** Stands where the rest of a text was left out. A value of a Secret may have begun before it: see `Scrubber`. */
export const CUT = "…";

/** A text of which no more than so many characters are kept, with {@link CUT} in the place of the rest. */
export function cut(text: string, longest: number): string {
  return text.length > longest ? text.slice(0, longest) + CUT : text;
}
