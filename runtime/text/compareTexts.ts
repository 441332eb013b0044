/** Sorts texts by their characters, whatever the language of the machine is. Times as RFC 3339 in UTC: the oldest first. */
export function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
