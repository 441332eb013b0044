/** Stands in the place of the text that was left out. A value of a Secret may have begun before it: see `Scrubber`. */
export const CUT = "…";

/** A text of at most this many characters, with {@link CUT} in the place of the rest. */
export function cut(text: string, longest: number): string {
  return text.length > longest ? text.slice(0, longest) + CUT : text;
}
