import { fingerprint } from "../../runtime/program";

/**
 * Words in plain data that represent a text which is only known later. They look like a name, so they are accepted as a name, a
 * host or a label's value.
 */
const PLACEHOLDER = /(argosy-known-later-\d+-x(?::known-later)?)/;

/** The word with this number. */
export function placeholder(index: number): string {
  return `argosy-known-later-${index}-x`;
}

/** The word with this number for an image: it has a tag. */
export function imagePlaceholder(index: number): string {
  return `${placeholder(index)}:known-later`;
}

/** Whether a text contains such a word. */
export function hasPlaceholder(text: string): boolean {
  return PLACEHOLDER.test(text);
}

/**
 * A fingerprint of a manifest's content, for an annotation of pods that start again when the content changes. It contains texts
 * that are only known later as they are, so that it changes with their values and not with their numbers.
 */
export function contentFingerprint(content: unknown): string {
  const words: string[] = [];
  const known = JSON.stringify(content)
    .split(PLACEHOLDER)
    .map((part, index) => {
      if (index % 2 === 0) return part;
      if (!words.includes(part)) words.push(part);
      return words.indexOf(part);
    });
  return words.length === 0 ? fingerprint(content) : [fingerprint(known.join("")), ...words].join("-");
}

/** A text in pieces: those with odd numbers are placeholders. Empty pieces are left out. */
export function splitByPlaceholders(text: string): string[] {
  return text.split(PLACEHOLDER).filter((part) => part !== "");
}
