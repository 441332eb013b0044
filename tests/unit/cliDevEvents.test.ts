import assert from "node:assert/strict";
import path from "node:path";
import { DevRecord } from "../../cli/dev/devRecord";
import { type LocalServer, startLocalServer } from "../../cli/dev/localServer";
import { eventCommands } from "../../cli/dev/outsideEvents";
import type { Running } from "../../cli/dev/workshop";
import { loadOperator } from "../../definition/loadOperator";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { Operator } from "../../runtime/operator/definition";
import { rememberVariables } from "../environment";
import { removeFolder, writeFolder } from "./operatorFolder";

const EXAMPLES = path.join(__dirname, "..", "..", "examples");
const comments = loadOperator(path.join(EXAMPLES, "deploy-notifier", "command"));
const releases = loadOperator(path.join(EXAMPLES, "06-outside-event"));
/** An operator of releases that come by a queue, of whose messages each is the whole event. */
const queued: Operator = {
  ...releases,
  name: "queued",
  on: [{ ...(releases.on?.[0] as NonNullable<Operator["on"]>[number]), type: "kafka" }],
};

describe("events that argosy dev takes", () => {
  let cache: string;
  let putBack: () => void;
  let server: LocalServer;
  let created: Manifest[];
  const told: string[] = [];

  before(async () => {
    cache = writeFolder({});
    putBack = rememberVariables("ARGOSY_CACHE");
    process.env["ARGOSY_CACHE"] = cache;
    const client = {
      server: "https://127.0.0.1:6443",
      now: Date.now,
      get: async () => ({ metadata: { name: "crd", uid: "u" } }) as KubernetesObject,
      create: async (_: unknown, manifest: Manifest) => {
        created.push(manifest);
        return manifest as KubernetesObject;
      },
    } as unknown as KubernetesClient;
    server = await startLocalServer({
      port: 0,
      running: () => [comments, releases, queued].map((operator) => ({ operator }) as Running),
      record: new DevRecord(),
      client,
      onEvent: (line) => told.push(line),
    });
  });
  beforeEach(() => {
    created = [];
  });
  after(() => {
    server.close();
    putBack();
    removeFolder(cache);
  });

  async function post(where: string, body: unknown, headers: Record<string, string> = {}) {
    const answer = await fetch(`${server.url}/events/${where}`, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { authorization: `Bearer ${server.token}`, ...headers },
    });
    return { status: answer.status, text: await answer.text() };
  }

  it("can be sent by the commands, which have the body and the headers of a fixture", () => {
    const [github, webhook] = eventCommands([comments, releases], server.url, server.token);
    assert.match(
      github ?? "",
      /^curl -H 'Authorization: Bearer \w{32}' --data '\{"action":"created",.*\}' http:\S+\/events\/command\/deploy$/,
    );
    assert.match(
      webhook ?? "",
      /-H 'Content-Type: application\/json' --data '\{"event":"published".*\}' \S+\/events\/outside-event\/release$/,
    );
  });

  it("have what GitHub's source adds to the body, and no token of argosy dev", async () => {
    const seen: unknown[] = [];
    const [event] = comments.on ?? [];
    const marked: Operator = {
      ...comments,
      name: "marked",
      on: [{ ...(event as NonNullable<typeof event>), when: { "body.X-GitHub-Event": "issue_comment" } }],
    };
    const comment = { id: 7, body: "/deploy", user: { login: "ada" }, created_at: "2026-11-22T10:00:00Z" };
    const body = { repository: { full_name: "a/b" }, issue: { number: 4 }, comment };
    const own = await startLocalServer({
      port: 0,
      running: () => [{ operator: marked } as Running],
      record: new DevRecord(),
      client: {
        server: "https://127.0.0.1:1",
        now: Date.now,
        get: async () => undefined,
        create: async (_: unknown, manifest: Manifest) => seen.push(manifest),
      } as unknown as KubernetesClient,
      onEvent: () => {},
    });
    try {
      const send = (headers: Record<string, string>) =>
        fetch(`${own.url}/events/marked/deploy`, {
          method: "POST",
          body: JSON.stringify(body),
          headers: { authorization: `Bearer ${own.token}`, ...headers },
        });
      assert.equal((await send({})).status, 200);
      assert.equal((await send({ "x-github-event": "issue_comment" })).status, 201);
      assert.equal(seen.length, 1);
      assert.ok(!JSON.stringify(seen).includes(own.token));
    } finally {
      own.close();
    }
  });

  it("are the whole body for a source that is neither a webhook nor GitHub", async () => {
    const event = { body: { event: "published", repository: "a/b", version: "1" } };
    const { status, text } = await post("queued/release", event);
    assert.equal(status, 201, text);
    assert.deepEqual(created[0]?.["spec"], { repository: "a/b", version: "1", by: "webhook" });
    assert.match(told.at(-1) ?? "", /^queued: event release created: Release releases\/release-/);
  });

  it("are refused if they are no JSON, are too large, or lack a field", async () => {
    const refused = async (body: unknown) => {
      const { status, text } = await post("outside-event/release", body);
      assert.equal(status, 422, text);
      return text;
    };
    assert.match(await refused("not JSON"), /the event is no JSON/);
    assert.match(await refused(`"${"x".repeat(2 ** 20)}"`), /the event has more than 1048576 bytes/);
    assert.match(await refused({ event: "published", repository: "a/b" }), /body\.version is missing/);
    assert.ok(created.every(({ kind }) => kind === "Event"));
  });
});
