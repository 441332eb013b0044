// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be removed
const ESCAPE_SEQUENCE = /\u001b(\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])/g;
/** Control characters except the newline, and characters that end a line or change the reading direction. */
const ACTIVE = /[^\P{Cc}\n]|[\u2028\u2029\p{Bidi_Control}]/gu;

/** Half of a character: a surrogate without its other half. The API server would not give it back as it was. */
const HALF_CHARACTER = /\p{Cs}/gu;

/** The longest text that people read, such as the message of a condition: the API allows 32768 characters there. */
export const LONGEST = 1024;

/**
 * Removes characters on which a terminal would act, replaces half of a character by U+FFFD, and cuts a text that is too long to
 * be read.
 * @param longest how many characters are left. @default 1024
 */
export function clean(text: string, longest = LONGEST): string {
  const plain = text.replace(ESCAPE_SEQUENCE, "").replace(ACTIVE, "").replace(HALF_CHARACTER, "\ufffd");
  const cut = plain.length > longest ? `${plain.slice(0, longest - 1)}…` : plain;
  // The cut itself may have left half of a character.
  return cut.replace(HALF_CHARACTER, "");
}
