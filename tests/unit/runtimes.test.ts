import assert from "node:assert/strict";
import { runtimeDifference } from "../../cli/dev/runtimes";
import type { Operator } from "../../runtime/operator/definition";

function difference(
  image: string,
  here: string,
  handler: object = { function: "main.py" },
): string | undefined {
  const operator = { name: "cache", handler: { image, ...handler }, include: [], folder: "/", env: {} };
  return runtimeDifference(operator as unknown as Operator, () => here);
}

describe("a handler's runtime here and in its image", () => {
  it("differs where Python's minor version or Node's major one does", () => {
    assert.equal(
      difference("python:3.13-slim", "Python 3.11.7\n"),
      "cache: the handler runs in Python 3.11.7 here, and in Python 3.13 in its image python:3.13-slim. Use --in-image to " +
        "run it in the image, with Docker or Podman.",
    );
    assert.match(
      difference("docker.io/library/node:22-slim", "v20.20.2", { function: "main.ts" }) ?? "",
      /Node 20\.20\.2 here/,
    );
    assert.match(difference("python:2", "Python 3.11.7") ?? "", /and in Python 2 in/);
  });

  it("is the same where these are, or where an image says less", () => {
    assert.equal(difference("python:3.11-slim", "Python 3.11.7"), undefined);
    assert.equal(difference("python:3", "Python 3.11.7"), undefined);
    assert.equal(difference("node:22.4-slim", "v22.22.0", { function: "main.js" }), undefined);
  });

  it("is not known where the image, the program or this machine does not say", () => {
    assert.equal(difference("registry.example.com/mine:1.4", "Python 3.11.7"), undefined);
    assert.equal(difference("registry.example.com/mypython:3.13", "Python 3.11.7"), undefined);
    assert.equal(difference("python:3.13", ""), undefined);
    assert.equal(difference("python:3.13", "Python 3.11.7", { command: ["./handler"] }), undefined);
  });
});
