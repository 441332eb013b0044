/** Changes a text as if its lines ended as on Linux. If all of them end as on Windows, all of the new text's do so too. */
export function keepingLineEnds(text: string, change: (text: string) => string): string {
  if (!text.includes("\r\n") || /(?<!\r)\n/.test(text)) return change(text);
  return change(withLinuxLineEnds(text)).replaceAll("\n", "\r\n");
}

/** Whether two texts differ at most in the ends of their lines: a checkout of git may change these. */
export function haveSameLines(one: string, other: string): boolean {
  return withLinuxLineEnds(one) === withLinuxLineEnds(other);
}

function withLinuxLineEnds(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
