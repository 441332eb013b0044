/** What JavaScript reads otherwise than RE2, and a list of characters, which is read by itself. */
const TOKENS = /\\.|\[(?:\\.|[^\]\\])*\]|\./gs;
/** RE2's blanks: JavaScript has more. */
const BLANKS = "\\t\\n\\f\\r ";

/**
 * A pattern of a CRD, which is one of RE2 (https://github.com/google/re2/wiki/Syntax), as the same pattern of JavaScript. Undefined if
 * JavaScript has none.
 */
export function regexOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern.replace(TOKENS, translated), "u");
  } catch {
    return undefined;
  }
}

function translated(token: string): string {
  if (token === ".") return "[^\\n]";
  if (token === "\\s") return `[${BLANKS}]`;
  if (token === "\\S") return `[^${BLANKS}]`;
  if (!token.startsWith("[")) return token;
  return token.replace(/\\(.)/gs, (whole, of) => {
    if (of === "S") throw new SyntaxError("a list of characters cannot have the opposite of a list");
    return of === "s" ? BLANKS : whole;
  });
}
