import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { readBody } from "../../runtime/base/http/readBody";

describe("readBody", () => {
  const newMessage = () => new Readable({ read() {} }) as IncomingMessage;
  const broken = { message: "the connection ended before the body did" };

  it("fails if the connection had ended before the body was read", async () => {
    const message = newMessage().destroy();
    await once(message, "close");
    await assert.rejects(readBody(message, 10), broken);
  });

  it("fails if the connection ends in the midst of the body", async () => {
    const message = newMessage();
    message.push("{");
    const reading = readBody(message, 10);
    message.destroy();
    await assert.rejects(reading, broken);
  });
});
