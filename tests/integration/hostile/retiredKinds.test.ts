import assert from "node:assert/strict";
import { eventually } from "../../support/eventually";
import type { Api } from "../support/api";
import { configMap, inNamespace } from "../support/manifests";
import type { TestOperator, TestOperatorOptions } from "../support/testOperator";
import { answering, conditionOf } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const SECRET = { apiVersion: "v1", kind: "Secret" };
const BOTH = [CONFIG_MAP, SECRET];

describe("a kind that an operator does not have among its children any more", function () {
  this.timeout(90_000);
  const retired: TestOperatorOptions = { name: "kind-retired", children: BOTH };
  const leftOut: TestOperatorOptions = { name: "kind-left-out", children: BOTH };
  const revoked: TestOperatorOptions = { name: "kind-revoked", children: BOTH };
  const bench = useOperators([retired, leftOut, revoked]);
  let api: Api;
  let [here, elsewhere] = ["", ""];

  beforeEach(async () => {
    ({ api, namespace: here } = bench);
    elsewhere = await api.newNamespace("kinds-elsewhere");
  });

  // Declared apart: it is not in the types of every definition that there is.
  const RETIRED_SECRET = { ...SECRET, retired: true };

  for (const [what, options, now] of [
    ["that is declared as retired", retired, { children: [CONFIG_MAP, RETIRED_SECRET] }],
    [
      "that is left out while the rights are still there",
      leftOut,
      { children: [CONFIG_MAP], installs: false },
    ],
  ] as [string, TestOperatorOptions, Partial<TestOperatorOptions>][]) {
    it(`${what}: its objects are pruned, and nothing is left when the owner goes`, async () => {
      await handled(options);
      const operator = await bench.install({ ...options, ...now });
      operator.plan("object", answering(configMap("map")));
      await operator.start();
      await eventually(() => api.assertGone(inNamespace(secret(), here)));
      await eventually(() => api.assertGone(inNamespace(secret(), elsewhere)));
      await api.get(inNamespace(configMap("map"), here));
    });

    it(`${what}: where the owner goes first, nothing elsewhere is left`, async () => {
      const former = await handled(options);
      await api.delete(former.object("object", {}, here));
      const operator = await bench.install({ ...options, ...now });
      await operator.start();
      await eventually(() => api.assertGone(former.object("object", {}, here)));
      await api.assertGone(inNamespace(secret(), elsewhere));
    });
  }

  it("that the runner has no rights for any more: the object says what is left", async () => {
    await handled(revoked);
    const operator = await bench.install({ ...revoked, children: [CONFIG_MAP] });
    operator.plan("object", answering(configMap("map")));
    await operator.start();
    await eventually(async () => {
      const { message } = conditionOf(await api.get(operator.object("object", {}, here)), "Ready");
      assert.match(message, /Secret/);
      assert.match(message, /retired/);
    });
    await api.get(inNamespace(secret(), here));
  });

  /** Lets the operator with both kinds handle an object. */
  async function handled(options: TestOperatorOptions): Promise<TestOperator> {
    const operator = await bench.install(options);
    const controller = await operator.start();
    const children = [configMap("map"), secret(), inNamespace(secret(), elsewhere)];
    const object = await api.apply(operator.object("object", answering(...children), here));
    await bench.ready(object);
    await controller.stop();
    return operator;
  }

  function secret() {
    return { ...SECRET, metadata: { name: "secret" }, data: { key: "dmFsdWU=" } };
  }
});
