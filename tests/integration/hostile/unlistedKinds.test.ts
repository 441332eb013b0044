import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject } from "../../../runtime/base/objects";
import type { Reference } from "../../../tools/objects";
import { eventually } from "../../support/eventually";
import type { Api } from "../support/api";
import { ApiProxy, isListOf, type Refusal } from "../support/apiProxy";
import { announceKind } from "../support/cluster";
import { configMap } from "../support/manifests";
import { type OperatorScene, type Play, withOperators } from "../support/operatorEach";
import type { ObjectPlan, TestController, TestOperator } from "../support/testOperator";
import { customResourceDefinitionOf } from "../support/testOperator";
import { answering, becomesReady, conditionOf } from "../support/useOperator";

const HOLDER = { apiVersion: "unlisted.example.com/v1", kind: "UnlistedHolder", plural: "unlistedholders" };
const CHILDREN = [{ apiVersion: "v1", kind: "ConfigMap" }, HOLDER];
const BROKEN =
  "conversion webhook for unlisted.example.com/v1, Kind=UnlistedHolder failed: connection refused";
/** As the API server answers each list of a kind whose conversion webhook is away: with 429 if it has not cached the kind yet. */
const FAILURE = failureOf(500, BROKEN);
const UNCACHED = failureOf(429, `storage is (re)initializing: failed to list: ${BROKEN}`);
/** A proxy before the API server cuts the connection of each list. */
const CUT = "cut";
const PATIENT = { timeoutMs: 40_000 };
/** How long the work in progress may take when a test has ended. */
const GRACE_MS = 1_000;

function failureOf(code: number, message: string): Refusal {
  return {
    code,
    body: JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message, code }),
  };
}

/** An operator whose engine reaches the API server through a proxy, which answers lists in its place. */
interface Scene {
  readonly operator: TestOperator;
  readonly api: Api;
  readonly proxy: ApiProxy;
  apply(name: string, spec: ObjectPlan): Promise<KubernetesObject>;
  ready(object: Reference): Promise<KubernetesObject>;
  /** Starts the engine behind the proxy. Resolves when it leads. */
  leads(): Promise<TestController>;
}

/** A test with such an operator. @param suffix of the operator's name */
function scene(suffix: string, play: Play<Scene>): OperatorScene {
  const options = { name: `unlisted-${suffix}`, finalize: true, children: CHILDREN };
  return {
    options,
    play: async (operator) => {
      const { api, connection } = operator.cluster;
      const namespace = await api.newNamespace(options.name);
      const proxy = await ApiProxy.start(connection);
      const leads = async () => {
        const engine = operator.launch({ connection: proxy.through(operator.connection) });
        await eventually(() => assert.ok(engine.controller.isLeading, "does not lead"));
        return engine;
      };
      try {
        await play({
          operator,
          api,
          proxy,
          apply: (name, spec) => api.apply(operator.object(name, spec, namespace)),
          ready: (object) => becomesReady(api, object, PATIENT),
          leads,
        });
      } finally {
        // Before the proxy: an engine that cannot give its lease back waits.
        await operator.dispose(GRACE_MS);
        await proxy.stop();
      }
    },
  };
}

const holder = (name: string) => ({
  apiVersion: HOLDER.apiVersion,
  kind: HOLDER.kind,
  metadata: { name },
  spec: {},
});
const failuresOf = (engine: TestController, name: string) =>
  engine.reportsOf(name).flatMap(({ failure }) => failure ?? []);

async function failingByItself(
  { operator, api, proxy, apply, ready, leads }: Scene,
  failure: Refusal | typeof CUT,
  said = BROKEN,
) {
  const before = await operator.start();
  const needs = await ready(await apply("needs", answering(holder("needed"))));
  const goes = await ready(await apply("goes", answering(holder("going"))));
  await before.stop();
  proxy.before = (request) => (isListOf(request, HOLDER.plural) ? failure : undefined);
  const engine = await leads();
  await sleep(2_000);
  assert.deepEqual(failuresOf(engine, "needs"), []);
  await ready(await apply("served", answering(configMap("served"))));
  await api.delete(goes);
  for (const object of [needs, goes])
    await eventually(async () => {
      const { status, reason, message } = conditionOf(await api.get(object), "Ready");
      assert.deepEqual([status, reason], ["False", "KindNotListed"], message);
      assert.ok(message.includes(said) && message.includes(HOLDER.kind), message);
      assert.ok(!message.includes("pulumi up"), message);
    }, PATIENT);
  assert.deepEqual(
    operator.calls("goes").filter(({ event }) => event === "finalize"),
    [],
  );
  proxy.before = () => undefined;
  await ready(needs);
  await eventually(() => api.assertGone(goes), PATIENT);
}

describe("where a kind of the children cannot be listed", function () {
  this.timeout(120_000);
  announceKind(customResourceDefinitionOf({ name: "unlisted-holder" }));

  // They wait for the engine's patience, and for watches that are tried again.
  withOperators({
    "yet, the handler finalizes when its list has come, with all children": scene(
      "yet",
      async ({ operator, api, proxy, apply, ready, leads }) => {
        const before = await operator.start();
        const spec = { ...answering(configMap("precious")), finalize: { answer: { finalized: false } } };
        const object = await ready(await apply("goes", spec));
        await before.stop();
        await api.delete(object);
        let release = () => {};
        const released = new Promise<void>((resolve) => {
          release = resolve;
        });
        proxy.before = async (request) => {
          if (isListOf(request, "configmaps")) await released;
          return undefined;
        };
        const finalizes = () => operator.calls("goes").filter(({ event }) => event === "finalize");
        const engine = await leads();
        await eventually(() => assert.ok(engine.reportsOf("goes").length > 1, "it is not looked at"));
        assert.deepEqual(finalizes(), []);
        release();
        await eventually(() => assert.ok(finalizes().length > 0, "it is not asked"));
        for (const { children } of finalizes())
          assert.deepEqual(
            children.map(({ metadata }) => metadata.name),
            ["precious"],
          );
        operator.plan("goes", { finalize: { answer: { finalized: true } } });
        await eventually(() => api.assertGone(object));
      },
    ),

    "by its own fault (500), the objects without such children are served, and the others say so": scene(
      "fails",
      (parts) => failingByItself(parts, FAILURE),
    ),

    "by its own fault (429), the objects without such children are served, and the others say so": scene(
      "uncached",
      (parts) => failingByItself(parts, UNCACHED),
    ),

    "because each of its lists is cut, the objects without such children are served, and the others say so":
      scene("cut", (parts) => failingByItself(parts, CUT, "socket hang up")),
  });
});
