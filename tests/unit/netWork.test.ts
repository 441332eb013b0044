import assert from "node:assert/strict";
import { isRecord, valueAlong } from "../../runtime/base/json";
import { NEXT_TRY_ANNOTATION, USED_BY_LABEL } from "../../runtime/base/names";
import { conditionsIn, type JsonObject, type Manifest } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
import {
  type Act,
  BASE,
  type Ground,
  SCENARIOS,
  type Scenario,
  THINGS,
  thing,
} from "../../tools/chaos/kills/scenarios";
import type { MemoryCall } from "./support/net/memoryApi";
import type { NetWorld } from "./support/net/netWorld";
import { runScenario, together } from "./support/net/runScenario";

/** How many questions and writes a scenario needs if nothing goes wrong. */
const NEEDED: Readonly<Record<string, readonly [number, number]>> = {
  create: [1, 5],
  change: [2, 5],
  "rename of a child": [2, 4],
  "children elsewhere": [2, 15],
  "a child comes home": [2, 4],
  after: [2, 7],
  "deletion in the order of after": [3, 8],
  once: [4, 8],
  never: [4, 7],
  recreate: [2, 6],
  retired: [2, 5],
  adoption: [3, 10],
  "former name": [3, 16],
  "watch with state": [3, 14],
  "a schedule is due": [3, 8],
  "a used Secret": [2, 5],
  finalize: [2, 10],
  // It is tried again and again.
  "not finalized yet": [40, 5],
  expiry: [1, 4],
  reports: [2, 4],
  "a failure and its end": [3, 6],
  "a name is taken": [12, 28],
  damage: [4, 5],
  "deleted and created again": [2, 8],
  "deleted without its children": [1, 0],
};

describe("nothing is asked or written without need:", () => {
  for (const scenario of SCENARIOS) {
    it(scenario.name, async () => {
      const { world, writes } = await runScenario(scenario);
      const [questions = 0, most = 0] = NEEDED[scenario.name] ?? [];
      assert.ok(world.questions.length <= questions, `${world.questions.length} questions`);
      assert.ok(writes.length <= most, writes.join("\n"));
    });
  }
});

/** No resync comes in between. */
const SELDOM = { resyncSeconds: 86_400 };

/** Users apply an object there. */
function applied(name: string, namespace: string, spec: JsonObject): Act {
  return ({ objects }) => objects.apply({ ...THINGS, metadata: { name, namespace }, spec } as Manifest);
}

const answer = {
  children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { v: "1" } }],
};

/** The questions about the objects of a namespace. */
function asked({ questions }: NetWorld, namespace: string) {
  return questions.filter(({ object }) => object.metadata.namespace === namespace);
}

describe("what happens in one namespace is no matter of the objects of another:", () => {
  const CODES = [403, 404, 429, 500, 503];

  for (const code of CODES) {
    it(`its lists are answered with ${code} for a while`, async () => {
      const scenario: Scenario = {
        name: "namespaces",
        operator: () => ({ namespaces: ["shop", "far"], ...SELDOM }),
        acts: [together(applied("one", "shop", { answer }), applied("two", "far", { answer }))],
      };
      const { world } = await runScenario(scenario, {
        after: async (place) => {
          const before = asked(place, "shop").length;
          const refused = ({ method, url }: MemoryCall) =>
            method === "GET" && url.pathname.includes("/namespaces/far/") && place.api.isCollection(url)
              ? { code, body: { kind: "Status", status: "Failure", code, message: "not now" } }
              : undefined;
          place.https.intermediary = { answer: refused };
          place.https.expire();
          await place.steady(place.ground.wait(30_000));
          place.https.intermediary = {};
          await place.steady(place.ground.wait(60_000));
          assert.equal(asked(place, "shop").length, before);
        },
      });
      assert.ok(asked(world, "far").length > 0);
    });
  }

  it("its objects name many Secrets, and each request takes a while", async () => {
    const MANY = 300;
    const LATENCY_MS = 100;
    const token =
      (value: string): Act =>
      ({ objects, namespace, operator }: Ground) =>
        objects.apply({
          ...{ apiVersion: "v1", kind: "Secret", data: { k: value } },
          metadata: { name: "token", namespace, labels: { [USED_BY_LABEL]: `argosy.${operator}` } },
        } as Manifest);
    let [changedAt, seenAt] = [0, Number.POSITIVE_INFINITY];
    const others = Array.from({ length: MANY }, (_, nth) => applied(`t${nth}`, "far", { secret: `s${nth}` }));
    const scenario: Scenario = {
      name: "Secrets",
      operator: () => ({
        uses: { token: { apiVersion: "v1", kind: "Secret", plural: "secrets", name: "spec.secret" } },
      }),
      given: together(token("djE="), applied("one", "shop", { secret: "token" }), ...others),
      acts: [
        async (ground) => {
          // By then the Secrets are being read.
          await ground.wait(10_000);
          changedAt = performance.now();
          await token("djI=")(ground);
        },
      ],
    };
    await runScenario(scenario, {
      begin: (place) => {
        place.https.latency = () => place.ground.wait(LATENCY_MS);
        const { handler } = place;
        place.handler = (question) => {
          if (question.object.metadata.name === "one" && changedAt > 0)
            seenAt = Math.min(seenAt, performance.now());
          return handler(question);
        };
      },
    });
    // It is read every five seconds.
    assert.ok(seenAt - changedAt < 10_000, `after ${seenAt - changedAt} ms`);
  });
});

describe("an object that fails says by when it is tried again, and it is:", () => {
  for (const permanent of [false, true]) {
    it(`whatever changes in between, ${permanent ? "and then never by itself" : "and then again and again"}`, async () => {
      const askedAt: number[] = [];
      const changedAt: number[] = [];
      const change: Act = async (ground) => {
        for (let nth = 0; nth < 25; nth++) {
          await ground.wait(500 + ((nth * 7) % 10) * 1_000);
          changedAt.push(Date.now());
          await thing(() => ({}), { nth })(ground);
        }
      };
      let endsAt = 0;
      const quiet: Act = async ({ wait }) => {
        await wait(600_000);
        endsAt = Date.now();
      };
      const { world } = await runScenario(
        { name: "fails", operator: () => SELDOM, acts: [change, quiet] },
        {
          handler: () => {
            askedAt.push(Date.now());
            return { error: { message: "no", ...(permanent && askedAt.length % 2 === 0 && { permanent }) } };
          },
        },
      );
      const said = world.api.log.flatMap(({ at, kind, after }) => {
        const by = Date.parse(after?.metadata.annotations?.[NEXT_TRY_ANNOTATION] ?? "");
        return kind.kind === "Event" && !Number.isNaN(by) ? [{ at, by }] : [];
      });
      assert.ok(said.length > 5, "nothing was said");
      // An Event may be written when the next try has begun.
      for (const { at, by } of said.filter((each) => each.by - each.at > 2_000 && each.by < endsAt)) {
        const next = askedAt.find((time) => time > at) ?? Number.POSITIVE_INFINITY;
        assert.ok(next <= by + 1_000, `by ${by - at} ms, and it was after ${next - at} ms`);
        const isByItself = !changedAt.some((time) => time > at - 1_000 && time <= next);
        // A random part of the pause, up to half of it, is left out.
        if (isByItself)
          assert.ok(
            next - at >= 0.4 * (by - at) - 1_000,
            `by ${by - at} ms, and it was after ${next - at} ms`,
          );
      }
    });
  }
});

describe("the status has the form that the CRD of the kind gives it, and is written no more often for that:", () => {
  const TEXT = { type: "string" };
  const conditions = (fields: readonly string[], more: JsonObject = {}): JsonObject => ({
    type: "object",
    properties: {
      size: { type: "integer" },
      conditions: {
        type: "array",
        items: { type: "object", properties: Object.fromEntries(fields.map((field) => [field, TEXT])) },
        ...more,
      },
    },
  });
  const KEYED = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] };
  const SHAPES: Readonly<Record<string, JsonObject>> = {
    "any content": { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    "no conditions": { type: "object", properties: { size: { type: "integer" } } },
    "conditions without a generation": conditions(
      ["type", "status", "reason", "message", "lastTransitionTime"],
      KEYED,
    ),
    "conditions without a time": conditions(["type", "status", "reason", "message"], KEYED),
    "conditions of two fields": conditions(["type", "status"], KEYED),
    "conditions with another field": conditions(["type", "status", "severity", "message"], KEYED),
  };
  const STATEMENT = { type: "Warm", status: "True", reason: "Sun", message: "It is warm" };
  const good = thing(() => ({ ...answer, status: { size: 1 }, conditions: [STATEMENT] }));
  const acts = [
    good,
    thing(() => ({ error: { message: "no", permanent: true } })),
    good,
    applied("two", "shop", {}),
  ];

  /** What the API server keeps of a status. */
  function pruned(status: JsonObject | undefined, schema: JsonObject): JsonObject | undefined {
    const fields = valueAlong(schema, ["properties", "conditions", "items", "properties"]);
    if (!status || !isRecord(fields) || !Array.isArray(status["conditions"])) return status;
    const kept = status["conditions"].map((each) =>
      Object.fromEntries(Object.entries(each as JsonObject).filter(([field]) => field in fields)),
    );
    return { ...status, conditions: kept };
  }

  for (const [shape, schema] of Object.entries(SHAPES)) {
    it(shape, async () => {
      const customResource = { ...BASE.customResource, statusSchema: schema };
      const run = (operator: Partial<Operator>) =>
        runScenario({ name: shape, operator: () => ({ ...operator, ...SELDOM }), acts }, {}, [
          {
            ...{ ...THINGS, plural: "things", namespaced: true, hasStatus: true },
            admit: (next) =>
              ({ ...next, status: pruned(next["status"] as JsonObject | undefined, schema) }) as Manifest,
          },
        ]);
      const { writes, world } = await run({ customResource });
      const { writes: wanted } = await runScenario({ name: shape, operator: () => SELDOM, acts });
      assert.deepEqual(writes, wanted);
      const path = new URL("https://api/apis/kills.example.com/v1/namespaces/shop/things");
      for (const { status } of world.api.list(path).items) {
        const known = conditionsIn(status).map(({ type, status: is }) => `${type} ${is}`);
        for (const each of ["Ready True", "Reconciling False", "Stalled False"])
          assert.ok(known.includes(each), each);
      }
    });
  }
});
