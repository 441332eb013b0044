import assert from "node:assert/strict";
import { Engine } from "../../runtime/engine/engine";
import { loadDefinition, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { shellHandler } from "./support/handlers";
import { json, refuse, TestApiServer } from "./support/testApiServer";

const THERE = { namespace: "team", name: "there" };
const WIDGETS = { resources: [{ name: "widgets", kind: "Widget", namespaced: true }] };

describe("Engine", () => {
  let api: TestApiServer;
  let folder: string;
  let controller: Engine;
  beforeEach(async () => {
    // It never leads, so that everything waits.
    api = await TestApiServer.start(({ path, query }, response) => {
      if (path.includes("/leases/")) return refuse(response, 403);
      if (query.has("watch")) return void response.writeHead(200).flushHeaders();
      if (path.endsWith("/shop.example.com/v1")) return json(response, WIDGETS);
      const items = path.endsWith("/widgets")
        ? [{ metadata: { ...THERE, uid: "u", resourceVersion: "4" } }]
        : [];
      json(response, { metadata: { resourceVersion: "5" }, items });
    });
    folder = writeFolder({ "crd.yaml": widgetCrd(), "main.py": "" });
    controller = new Engine({
      operator: loadDefinition(folder, { ...widgetDefinition, name: "shop" }),
      connection: api.connection(),
      transport: shellHandler("exit"),
      namespace: "argosy",
      identity: "one",
    });
    await controller.start();
  });
  afterEach(async () => {
    await controller.stop();
    await api.stop();
  });

  it("refuses an object where too many wait, but not one that waits already", () => {
    // The object that exists waits too.
    for (let at = 0; at < 9_999; at++)
      assert.ok(controller.hint({ namespace: "team", name: `object-${at}` }));
    assert.equal(controller.hint({ namespace: "team", name: "one-more" }), false);
    assert.equal(controller.hint({ namespace: "team", name: "object-0" }), true);
    assert.equal(controller.wake(THERE), "queued");
  });

  it("wakes an object that exists, and knows of one that does not, which waits for nothing", () => {
    assert.equal(controller.wake(THERE), "queued");
    for (let at = 0; at < 20_000; at++)
      assert.equal(controller.wake({ namespace: "team", name: `invented-${at}` }), "absent");
    assert.equal(controller.hint({ namespace: "team", name: "one-more" }), true);
  });
});
