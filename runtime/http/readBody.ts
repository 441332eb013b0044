import type { IncomingMessage } from "node:http";

/**
 * The body of a request or an answer, as text. Undefined if it is longer: then the rest is not read, and the stream is destroyed.
 * @param most how many bytes it may have
 * @param toItsEnd whether the rest of a longer body is read and dropped, for a sender that waits for that. @default false
 * @throws Error if the connection ends before the body does
 */
export async function readBody(
  message: IncomingMessage,
  most: number,
  toItsEnd = false,
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= most) chunks.push(chunk);
    else if (toItsEnd) chunks.length = 0;
    else return undefined;
  }
  return bytes > most ? undefined : Buffer.concat(chunks).toString("utf8");
}
