import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { formatLine } from "../../cli/commands/logs";
import { plain } from "../../cli/common/terminal";
import { followLogs, type PodLine, readLog, sourcesOf } from "../../cli/inspect/podLog";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { HttpTransport } from "../../runtime/kubernetes/transport";
import { eventually } from "../support/eventually";
import { assertEach } from "./support/lists";
import { observed } from "./support/objects";
import { refuse, useApiServer } from "./support/testApiServer";

const SOURCE = { namespace: "argosy", pod: "one", container: "runner" };
const line = (second: number, text: string) => `2026-01-01T12:00:0${second}.5Z ${text}\n`;

describe("the log of a container", () => {
  const api = useApiServer();
  let transport: HttpTransport;
  let abort: AbortController;
  beforeEach(() => {
    transport = new HttpTransport(api.connection());
    abort = new AbortController();
  });
  afterEach(() => {
    abort.abort();
    transport.close();
  });

  const read = (onLine: (line: PodLine) => void, tail = 1) =>
    readLog(transport, SOURCE, { tail, follow: false, signal: abort.signal }, onLine);
  /** Follows it, and fails at any trouble unless that is to be told. */
  const follow = (
    onLine: (line: PodLine) => void,
    look: () => Promise<(typeof SOURCE)[]> = async () => [SOURCE],
    onTrouble: (what: string, error: Error) => void = () => assert.fail(),
  ) => followLogs(transport, look, { tail: 1, signal: abort.signal, lookMs: 5, onTrouble }, onLine);

  it("is asked for by the kubelet's own words, and cut into lines with their times", async () => {
    api.answer = (_, response) => void response.end(line(1, "first") + line(2, "second, of two\twords"));
    const lines: PodLine[] = [];
    await read((each) => void lines.push(each), 7);
    assertEach(lines, ({ time, text }) => [time, text], [
      ["2026-01-01T12:00:01.5Z", "first"],
      ["2026-01-01T12:00:02.5Z", "second, of two\twords"],
    ]);
    const [call] = api.calls;
    assert.equal(call?.path, "/api/v1/namespaces/argosy/pods/one/log");
    assert.equal(String(call?.query), "container=runner&timestamps=true&tailLines=7");
  });

  it("has no lines where the container has not begun or the pod is gone, and any other refusal is told", async () => {
    const noLine = () => assert.fail();
    for (const code of [400, 404]) {
      api.answer = (_, response) => refuse(response, code);
      await read(noLine);
    }
    api.answer = (_, response) => refuse(response, 403);
    await assert.rejects(read(noLine), /403/);
  });

  it("is followed over the end of a stream and into new pods, and no line comes twice", async () => {
    const open: ServerResponse[] = [];
    api.answer = ({ query }, response) => {
      open.push(response);
      response.write(query.has("sinceTime") ? line(1, "a") + line(3, "b") : line(1, "a"));
    };
    const shown: string[] = [];
    const sources = [SOURCE];
    const following = follow(
      ({ pod, text }) => void shown.push(`${pod} ${text}`),
      async () => sources,
    );
    await eventually(() => assert.deepEqual(shown, ["one a"]));
    open[0]?.end();
    await eventually(() => assert.deepEqual(shown, ["one a", "one b"]));
    assert.equal(api.calls[1]?.query.get("sinceTime"), "2026-01-01T12:00:01Z");
    sources.push({ ...SOURCE, pod: "two" });
    await eventually(() => assert.deepEqual(shown, ["one a", "one b", "two a"]));
    abort.abort();
    await following;
  });

  it("is followed again after trouble, which is told once", async () => {
    const told: string[] = [];
    const shown: string[] = [];
    let looks = 0;
    const look = async () => {
      if (++looks % 2 === 0) throw new ApiUnreachableError("GET /", new Error("no answer"));
      return [SOURCE];
    };
    api.answer = (_, response) => refuse(response, 502, { message: "the kubelet does not answer" });
    const following = follow(
      ({ text }) => void shown.push(text),
      look,
      (what, error) => void told.push(`${what}: ${error.message}`),
    );
    await eventually(() => assert.ok(api.calls.length > 2 && looks > 4));
    const trouble = "the log of one/runner: the kubelet does not answer";
    const pods = "the operator's pods: GET /: no answer";
    assert.equal(told.filter((each) => each === trouble).length, 1);
    assert.ok(told.filter((each) => each === pods).length > 1, "told again after a look that succeeded");
    api.answer = (_, response) => void response.write(line(1, "a"));
    await eventually(() => assert.deepEqual(shown, ["a"]));
    abort.abort();
    await following;
  });

  it("is followed over a stream that breaks", async () => {
    const open: ServerResponse[] = [];
    api.answer = (_, response) => {
      open.push(response);
      response.write(line(open.length, String(open.length)));
    };
    const shown: string[] = [];
    const following = follow(({ text }) => void shown.push(text));
    await eventually(() => assert.deepEqual(shown, ["1"]));
    api.cut();
    await eventually(() => assert.deepEqual(shown, ["1", "2"]));
    abort.abort();
    await following;
  });

  it("is not followed without the right to read it, or by a user that the cluster does not recognize", async () => {
    for (const code of [401, 403]) {
      api.answer = (_, response) => refuse(response, code, { message: "you may not" });
      const noLine = () => {};
      await assert.rejects(follow(noLine), /you may not/);
      const refused = async () => {
        throw new ApiError(code, { message: "no pods for you" }, "GET /");
      };
      await assert.rejects(follow(noLine, refused), /no pods for you/);
    }
  });

  it("is not followed after a mistake of our own", async () => {
    api.answer = (_, response) => void response.write(line(1, "a"));
    const mistake = () => {
      throw new TypeError("undefined is not a line");
    };
    await assert.rejects(follow(mistake), /undefined is not a line/);
    await assert.rejects(
      follow(() => {}, mistake),
      /undefined is not a line/,
    );
  });

  it("is read of the containers that count", () => {
    const spec = { containers: [{ name: "runner" }, { name: "sidecar" }] };
    const pod = observed("Pod", { spec }, { name: "one", namespace: "argosy" });
    assert.deepEqual(sourcesOf([pod], ["runner", "handler"]), [SOURCE]);
  });

  it("is printed for people: the engine's JSON as words, the handler's lines as they are, and nothing active", () => {
    const format = (container: string, text: string) =>
      formatLine({ pod: "p", container, time: "2026-01-01T12:00:01Z", text }, plain);
    const fields = {
      level: "error",
      message: "no \u001b[2Jluck",
      object: "shop/a",
      reason: "HandlerError",
      attempt: 3,
    };
    assert.equal(
      format("runner", JSON.stringify(fields)),
      "12:00:01  shop/a  HandlerError (attempt 3):  no luck",
    );
    assert.equal(format("handler", "\u001b[31mred"), "12:00:01  handler| red");
    assert.equal(format("handler", '{"a":1}'), '12:00:01  handler| {"a":1}');
  });
});
