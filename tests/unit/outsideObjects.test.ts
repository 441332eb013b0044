import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import type { ObjectMeta } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { News } from "../../runtime/observe/news";
import { OutsideObjects } from "../../runtime/observe/outsideObjects";
import { eventually } from "../support/eventually";
import { WIDGETS, widget } from "./support/objects";
import { json, sendEvent, TestApiServer } from "./support/testApiServer";

const OURS = "argosy.dev/argosy.shop";

describe("OutsideObjects", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let outside: OutsideObjects;
  let changes: Extract<News, { kind: "object changed" }>[];
  let gone: string[];
  let watch: ServerResponse | undefined;

  beforeEach(async () => {
    [changes, gone, watch] = [[], [], undefined];
    api = await TestApiServer.start((call, response) => {
      if (!call.query.has("watch")) return json(response, { metadata: { resourceVersion: "5" }, items: [] });
      response.writeHead(200).flushHeaders();
      watch = response;
    });
    client = api.client();
    outside = new OutsideObjects({
      client,
      resource: WIDGETS,
      namespaces: ["listed"],
      finalizers: [OURS],
      emit: (news) => {
        if (news.kind === "object changed") changes.push(news);
        if (news.kind === "object gone") gone.push(news.name.name);
      },
      onInterruption: () => {},
    });
    outside.startWatching();
    await eventually(() => assert.ok(watch));
  });
  afterEach(async () => {
    await outside.stopWatching();
    await api.stop();
  });

  /** The watch reports these states of an object one after another. */
  async function seen(...states: Partial<ObjectMeta>[]): Promise<void> {
    for (const [index, state] of states.entries())
      sendEvent(
        watch as ServerResponse,
        "MODIFIED",
        widget({ resourceVersion: String(6 + index), ...state }),
      );
    sendEvent(
      watch as ServerResponse,
      "MODIFIED",
      widget({ ...going(), name: "last", uid: "last", resourceVersion: "99" }),
    );
    await eventually(() => assert.equal(changes.at(-1)?.name.name, "last"));
  }

  const going = (more: Partial<ObjectMeta> = {}): Partial<ObjectMeta> => ({
    deletionTimestamp: "2026-01-01T00:00:00Z",
    finalizers: [OURS],
    ...more,
  });
  const versions = () => changes.slice(0, -1).map(({ resourceVersion }) => resourceVersion);

  it("say that an object is being deleted, and once: a status that its handler writes is no change", async () => {
    await seen({ finalizers: [OURS] }, going(), going({ managedFields: [] }), going({ labels: { a: "1" } }));
    assert.deepEqual(versions(), ["7"]);
    assert.deepEqual(outside.names(), [
      { namespace: "shop", name: "widget" },
      { namespace: "shop", name: "last" },
    ]);
  });

  it("say when the object or an annotation of ours changes: a user may want it deleted without its handler", async () => {
    const annotations = { "argosy.dev/skip-finalize": "true" };
    await seen(
      going(),
      going({ annotations: { other: "1" } }),
      going({ annotations }),
      going({ generation: 9 }),
    );
    assert.deepEqual(versions(), ["6", "8", "9"]);
  });

  it("leave out what is listed, and what has no finalizer of ours", async () => {
    const other = going({ name: "other", uid: "other", finalizers: ["example.com/other"] });
    await seen(going({ namespace: "listed" }), other, going(), going({ finalizers: [] }));
    assert.deepEqual([versions(), gone], [["8"], ["widget"]]);
  });
});
