import assert from "node:assert/strict";
import path from "node:path";
import { Operators } from "../../components";
import { addFiles, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { run } from "./support/program";

const WATCHING = `watch: { apiVersion: apps/v1, kind: Deployment, labels: { notify: "true" } }
handler: main.py
children: [v1/ConfigMap]
`;

describe("Operators with one that watches a kind that others own", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "notify/main.py": "def reconcile(request):\n    return {}\n",
      "notify/operator.yaml": WATCHING,
    });
  });

  const made = async (installation = "argosy") => {
    let operators: Operators | undefined;
    const { manifests, registrations } = await run(() => {
      operators = new Operators("shop", { handlers: root, installation });
    });
    assert.ok(operators);
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    return { operators, names, registrations, manifests };
  };

  it("need no event path and no Service, register no CRD for it, and keep its memories", async () => {
    const { operators, names } = await made();
    const path = names.filter((name) => /^(EventBus|EventSource|Sensor|Service notify)/.test(name));
    assert.deepEqual([path, operators.eventPath], [[], undefined]);
    const { notify } = operators.operators;
    assert.deepEqual([notify?.customResourceDefinition, notify?.crdName], [undefined, undefined]);
    assert.deepEqual(operators.crdNames, []);
    assert.ok(notify?.runner);
    assert.ok(names.includes("CustomResourceDefinition memories.argosy.dev"), names.join("\n"));
    assert.ok(names.includes("Deployment notify-runner"));
  });

  it("have memories of their own in each installation", async () => {
    const { names } = await made("shop");
    assert.ok(names.includes("CustomResourceDefinition memories.shop.argosy.dev"), names.join("\n"));
  });

  it("leave the event path to those that have custom resources", async () => {
    const files = { "crd.yaml": widgetCrd(), "main.py": "", "operator.yaml": widgetDefinition };
    addFiles(path.join(root, "widgets"), files);
    const { operators, manifests } = await made();
    assert.deepEqual(operators.crdNames, ["widgets.shop.example.com"]);
    for (const kind of ["EventSource", "Sensor"]) {
      const found = manifests.find((manifest) => manifest.kind === kind);
      assert.ok(found, kind);
      assert.match(JSON.stringify(found), /widgets/);
      assert.doesNotMatch(JSON.stringify(found), /deployments|notify/);
    }
    const policy = manifests.find(
      ({ kind, metadata }) => kind === "NetworkPolicy" && metadata.name === "notify-runner",
    );
    assert.doesNotMatch(JSON.stringify(policy), /sensor/);
  });
});
