import assert from "node:assert/strict";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { awaitKind } from "../../runtime/kubernetes/discovery";
import { eventually } from "../support/eventually";
import { json, refuse, TestApiServer } from "./support/testApiServer";

describe("awaitKind", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let stopping: AbortController;
  let reasons: string[];
  beforeEach(async () => {
    api = await TestApiServer.start();
    [client, stopping, reasons] = [api.client(), new AbortController(), []];
  });
  afterEach(async () => {
    stopping.abort();
    client.close();
    await api.stop();
  });

  const widgets = { resources: [{ name: "widgets", kind: "Widget", namespaced: true }] };

  function find() {
    const onWait = ({ message }: Error) => void reasons.push(message);
    return awaitKind(client, "shop.example.com/v1", "Widget", { signal: stopping.signal, onWait });
  }

  it("gives a kind that exists, and tells nothing", async () => {
    api.answer = (_, response) => json(response, widgets);
    assert.equal((await find()).plural, "widgets");
    assert.deepEqual(reasons, []);
  });

  it("asks again until the kind has come, and tells each reason once", async () => {
    api.answer = (_, response) => {
      if (api.calls.length <= 2) return refuse(response, 404);
      if (api.calls.length === 3) return refuse(response, 500, { message: "a bad moment" });
      return json(response, widgets);
    };
    assert.equal((await find()).plural, "widgets");
    assert.equal(api.calls.length, 4);
    assert.equal(reasons.length, 2);
    assert.match(reasons[0] ?? "", /no kind Widget in shop\.example\.com\/v1/);
    assert.equal(reasons[1], "a bad moment");
  }).timeout(15_000);

  it("waits for an API server that is out of reach", async () => {
    api.answer = (_, response) =>
      api.calls.length === 1 ? void response.destroy() : json(response, widgets);
    assert.equal((await find()).plural, "widgets");
    assert.equal(reasons.length, 1);
  });

  it("ends on its signal", async () => {
    api.answer = (_, response) => refuse(response, 404);
    const found = find();
    await eventually(() => assert.ok(reasons.length === 1, "asked"));
    stopping.abort();
    await assert.rejects(found, { name: "AbortError" });
  });
});
