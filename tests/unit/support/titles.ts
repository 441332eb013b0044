/** A test's title: the words of the message that it expects. */
export function titleOf(message: RegExp): string {
  return message.source.replaceAll("\\", "").slice(0, 80);
}
