/** Replaces the text that was left out. A value of a Secret may have begun before it: see `Scrubber`. */
export const CUT = "…";

/** A text of at most this many characters, with {@link CUT} instead of the rest. */
export function cut(text: string, longest: number): string {
  return text.length > longest ? text.slice(0, longest) + CUT : text;
}

/** A text of at most this many bytes of UTF-8, with {@link CUT}, which counts too, instead of the rest. */
export function cutBytes(text: string, longest: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= longest) return text;
  // The decoder of a stream leaves out a character that is cut in the middle.
  const kept = new TextDecoder().decode(bytes.subarray(0, longest - Buffer.byteLength(CUT)), {
    stream: true,
  });
  return kept + CUT;
}
