import type { IncomingMessage } from "node:http";

/**
 * The body of a request or an answer, as text. Undefined if it is longer: then the rest is not read, and the connection of an answer is closed.
 * @param most how many bytes it may have
 * @param toItsEnd whether the rest of a longer body is read and dropped, for a sender that waits for that. @default false
 * @throws Error if the connection ends before the body does
 */
export function readBody(
  message: IncomingMessage,
  most: number,
  toItsEnd = false,
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    // An iterator of the stream would take a quarter of a request's time.
    message.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= most) chunks.push(chunk);
      else if (toItsEnd) chunks.length = 0;
      else {
        resolve(undefined);
        // The sender of a request still gets its answer on the connection.
        if (message.statusCode) message.destroy();
        else message.pause();
      }
    });
    const cut = () => reject(new Error("the connection ended before the body did"));
    // `finished` of node:stream would take longer than all the rest.
    message.on("end", () => resolve(bytes > most ? undefined : Buffer.concat(chunks).toString("utf8")));
    message.on("error", reject);
    message.on("close", cut);
    if (message.destroyed) cut();
  });
}
