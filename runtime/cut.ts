/** Stands in the place of the text that was left out. A value of a Secret may have begun before it: see `Scrubber`. */
export const CUT = "…";

/** A text of at most this many characters, with {@link CUT} in the place of the rest. */
export function cut(text: string, longest: number): string {
  return text.length > longest ? text.slice(0, longest) + CUT : text;
}

/** A text of which no more than so many bytes of UTF-8 are kept, {@link CUT} in the place of the rest included. */
export function cutBytes(text: string, longest: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= longest) return text;
  // As a stream: of a character that is cut, nothing is given.
  const kept = new TextDecoder().decode(bytes.subarray(0, longest - Buffer.byteLength(CUT)), {
    stream: true,
  });
  return kept + CUT;
}
