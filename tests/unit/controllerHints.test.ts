import assert from "node:assert/strict";
import { Engine } from "../../runtime/engine/engine";
import { loadDefinition, removeFolder, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { shellHandler } from "./support/handlers";
import { TestApiServer } from "./support/testApiServer";

describe("Controller.hint", () => {
  let api: TestApiServer;
  let folder: string;
  let controller: Engine;
  beforeEach(async () => {
    api = await TestApiServer.start();
    folder = writeFolder({ "crd.yaml": widgetCrd(), "main.py": "" });
    // It is not started, so that everything waits.
    controller = new Engine({
      operator: loadDefinition(folder, { ...widgetDefinition, name: "shop" }),
      connection: api.connection(),
      transport: shellHandler("exit"),
      namespace: "argosy",
      identity: "one",
    });
  });
  afterEach(async () => {
    await controller.stop();
    await api.stop();
    removeFolder(folder);
  });

  it("refuses an object where too many wait, but not one that waits already", () => {
    for (let at = 0; at < 10_000; at++)
      assert.ok(controller.hint({ namespace: "team", name: `object-${at}` }));
    assert.equal(controller.hint({ namespace: "team", name: "one-more" }), false);
    assert.equal(controller.hint({ namespace: "team", name: "object-0" }), true);
  });
});
