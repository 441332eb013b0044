import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { Resource } from "../../runtime/base/resource";
import type { HandlerQuestion } from "../../runtime/handler/contract";
import { ApiError } from "../../runtime/kubernetes/errors";
import { resultOfError, resultOfTrial } from "../../runtime/programs/workflows/runResult";
import type { Outcome } from "../../runtime/reconcile/report";
import { tryHandler } from "../../runtime/reconcile/trial";
import { CONFIG_MAPS, configMap, operator, widget } from "./support/objects";
import { ReconcileWorld } from "./support/reconcileWorld";

const SECRETS: Resource = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };
const RESOURCES = [SECRETS, CONFIG_MAPS];
const CHILDREN = RESOURCES.map((resource) => ({ ...resource, update: "apply" as const }));
const VALUE = "correct-horse";
const ENCODED = Buffer.from(VALUE).toString("base64");

function secret(content: object, name = "credentials") {
  return { apiVersion: "v1", kind: "Secret", metadata: { name }, ...content };
}

describe("the values of Secrets among an object's children", () => {
  let world: ReconcileWorld;
  const reconcile = (more: Parameters<ReconcileWorld["reconcile"]>[0] = {}) =>
    world.reconcile({ operator: operator({ children: CHILDREN }), childResources: RESOURCES, ...more });

  /** Everything that is reported of an outcome, as one text. */
  const told = ({ report, verdict, events }: Outcome) =>
    JSON.stringify([report, report.failure?.message, verdict, events, world.status()["conditions"]]);

  beforeEach(() => {
    world = new ReconcileWorld();
    world.given();
    world.log = `made ${VALUE}, ${ENCODED}`;
  });

  for (const [field, content] of [
    ["data", { data: { password: ENCODED } }],
    ["stringData", { stringData: { password: VALUE } }],
  ] as const) {
    it(`are in no report of the run whose handler returns them as ${field}`, async () => {
      world.answer = {
        children: [secret(content)],
        conditions: [{ type: "Known", status: "True", reason: "Made", message: `it is ${VALUE}` }],
        events: [{ type: "Normal", reason: "Made", note: `it is ${ENCODED}` }],
      };
      const outcome = await reconcile();
      assert.equal(outcome.report.result, "succeeded");
      assert.equal(outcome.report.log, "made ***, ***");
      assert.doesNotMatch(told(outcome), new RegExp(`${VALUE}|${ENCODED}`));
      const live = world.cluster.find("Secret", { namespace: "shop", name: "credentials" });
      assert.deepEqual(live?.["data"], { password: ENCODED });
    });
  }

  it("are in no message of the API server, no matter where the message is cut", async () => {
    world.answer = { children: [secret({ stringData: { password: VALUE } })] };
    const message = `Invalid value: "${"x".repeat(380)}${VALUE}${"y".repeat(400)}"`;
    world.cluster.refusals.set("apply Secret credentials", new ApiError(422, { message }, "PATCH"));
    const outcome = await reconcile();
    assert.equal(outcome.report.failure?.reason, "ChildRefused");
    assert.doesNotMatch(told(outcome), /corr/);
  });

  it("are in no report of an answer that is refused", async () => {
    world.answer = { children: [secret({ stringData: { password: VALUE } })], unknown: true };
    const outcome = await reconcile();
    assert.equal(outcome.report.failure?.reason, "InvalidAnswer");
    assert.equal(outcome.report.log, "made ***, ***");
    world.answer = { children: [{ apiVersion: 1, kind: "Secret" }, null, secret({ data: [3] })] };
    assert.equal((await reconcile()).report.failure?.reason, "InvalidAnswer");
  });

  it("are in no report of a handler that is given them and fails", async () => {
    world.answer = { children: [secret({ data: { password: ENCODED } })] };
    await reconcile();
    const pool = {
      hidden: () => [],
      ask: async ({ children: [child] }: HandlerQuestion): Promise<never> => {
        const message = `crashed with ${JSON.stringify(child?.["data"])}`;
        throw new ReconcileFailure("HandlerCrashed", message, { log: `had ${VALUE}` });
      },
    };
    const { report } = await reconcile({ pool });
    assert.deepEqual([report.failure?.message, report.log], [`crashed with {"password":"***"}`, "had ***"]);
  });

  it("are in no report of a handler that has them by secretEnv, as of the container in which it was asked", async () => {
    const hidden: string[] = [];
    const ask = async (): Promise<never> => {
      // The container begins with the first question, and may come back with another value.
      hidden.push(ENCODED);
      throw new ReconcileFailure("HandlerCrashed", `no route to db?token=${VALUE}`, { log: `had ${VALUE}` });
    };
    const { report } = await reconcile({ pool: { ask, hidden: () => hidden } });
    assert.deepEqual([report.failure?.message, report.log], ["no route to db?token=***", "had ***"]);
    assert.equal(world.reconciling.masked(`stray ${VALUE}`), "stray ***");
    await reconcile({ pool: { ask, hidden: () => [ENCODED] } });
    assert.equal(world.reconciling.masked(`before the first ${VALUE}`), "before the first ***");
  });

  it("are left in a text if they are the name of the object or of a child, which is no secret", async () => {
    const settings = configMap({ name: "settings" });
    world.answer = {
      children: [secret({ stringData: { user: "widget", host: "settings", password: VALUE } }), settings],
    };
    world.log = `widget made settings with ${VALUE}`;
    const { report } = await reconcile();
    assert.equal(report.log, "widget made settings with ***");
  });

  it("are known once, as answered and as they are in the cluster", async () => {
    world.tellsAnswer = true;
    const half = "x".repeat(15_000);
    world.answer = { children: [secret({ stringData: { half } })] };
    for (let run = 0; run < 2; run++) {
      world.cluster.steps.length = 0;
      await reconcile();
      assert.equal(world.cluster.steps[1], "leave");
    }
  });
});

describe("the values of Secrets in a trial of a handler", () => {
  const SHORT = "1234";
  const LAST = { annotations: { "kubectl.kubernetes.io/last-applied-configuration": `{"pin":"${SHORT}"}` } };

  /** What whoever submitted the trial sees of it, as one text. */
  async function seen(
    answer: object,
    options: { readonly log?: string; readonly used?: object; readonly hidden?: readonly string[] } = {},
  ) {
    const { log = "", used, hidden = [] } = options;
    const uses = {
      login: { apiVersion: "v1", kind: "Secret", plural: "secrets", name: '"credentials"' },
    };
    const pool = {
      hidden: () => [...hidden],
      ask: async () => ({ answer: answer as Record<string, unknown>, length: 0, log }),
    };
    const trial = { operator: operator({ children: CHILDREN, uses }), childResources: RESOURCES, pool };
    const result = await tryHandler(trial, widget(), used).then(resultOfTrial, resultOfError);
    return JSON.stringify(result);
  }

  it("are not in the answer, whichever form the Secret has and however short they are, nor in the log", async () => {
    const shown = await seen(
      {
        children: [
          secret({ data: { password: ENCODED }, stringData: { pin: SHORT } }),
          { ...secret({}, "again"), metadata: { name: "again", ...LAST }, data: { pin: "MTIzNA==" } },
          { ...configMap({ name: "settings" }), data: { url: `db://me:${VALUE}@host`, kept: "settings" } },
        ],
        status: { login: ENCODED, [`of ${VALUE}`]: { [ENCODED]: 1 } },
        events: [{ type: "Normal", reason: "Made", note: `it is ${VALUE}` }],
      },
      { log: `made ${VALUE}, ${ENCODED}` },
    );
    assert.match(shown, /"phase":"Succeeded"/);
    for (const value of [VALUE, ENCODED, SHORT, "MTIzNA"]) assert.ok(!shown.includes(value), shown);
    for (const kept of ["db://me:***@host", "credentials", "settings", "made ***, ***"])
      assert.ok(shown.includes(kept), shown);
  });

  for (const [how, options] of [
    [
      "they were given as an example of what the object uses",
      { used: { login: { data: { password: ENCODED } } } },
    ],
    ["the handler has them by secretEnv", { hidden: [ENCODED], log: VALUE }],
  ] as const)
    it(`are not in the answer if ${how}`, async () => {
      const shown = await seen({ children: [], status: { login: VALUE } }, options);
      assert.match(shown, /"phase":"Succeeded"/);
      assert.ok(!shown.includes(VALUE), shown);
    });

  it("are not in its failure", async () => {
    const children = [secret({ stringData: { password: VALUE } })];
    const failed = [
      { answer: { children, [VALUE]: true }, reason: "InvalidAnswer" },
      { answer: { children, error: { message: `cannot use ${VALUE}` } }, reason: "InvalidAnswer" },
    ];
    for (const { answer, reason } of failed) {
      const shown = await seen(answer, { log: `made ${ENCODED}` });
      assert.ok(shown.includes(reason) && shown.includes("made ***"), shown);
      assert.ok(!shown.includes(VALUE) && !shown.includes(ENCODED), shown);
    }
    const used = { login: { data: { password: ENCODED } } };
    const shown = await seen({ error: { message: `cannot use ${VALUE}` } }, { used });
    assert.ok(shown.includes("cannot use ***"), shown);
  });
});
