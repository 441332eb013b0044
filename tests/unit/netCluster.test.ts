import assert from "node:assert/strict";
import { CHILD_OF_LABEL } from "../../runtime/base/names";
import {
  conditionsIn,
  type JsonObject,
  type KubernetesObject,
  type Manifest,
} from "../../runtime/base/objects";
import { type Act, BASE, type Ground, PARTS, type Scenario, thing } from "../../tools/chaos/kills/scenarios";
import { BUILT_IN_KINDS } from "./support/net/builtInKinds";
import type { ServedKind } from "./support/net/memoryApi";
import type { NetWorld } from "./support/net/netWorld";
import { runScenario, together } from "./support/net/runScenario";

const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment" };
const SERVICE = { apiVersion: "v1", kind: "Service" };
/** Whoever undoes a child each time sees it corrected no more often than this, in milliseconds. The longest pause is 10 s. */
const SLOWEST_MS = 7_500;
/** No world waits for as long as 15 minutes at once. */
const WAIT_MS = 600_000;
/** In a run of a scenario. */
const MOST_WRITES = 40;
const SECRET = { apiVersion: "v1", kind: "Secret" };

function operatorWith(update: "apply" | "recreate"): NonNullable<Scenario["operator"]> {
  return () => ({
    children: [
      ...BASE.children,
      { ...DEPLOYMENT, plural: "deployments", update },
      { ...SERVICE, plural: "services", update },
    ],
  });
}

const child = (kind: typeof SERVICE, content: JsonObject) => ({
  ...kind,
  metadata: { name: "c" },
  ...content,
});

/** What a handler may want of a child, one after the other. */
const WANTED: readonly Readonly<Record<string, JsonObject>>[] = [
  {
    "a Deployment": child(DEPLOYMENT, { spec: {} }),
    "a Deployment with an account": child(DEPLOYMENT, { spec: { serviceAccountName: "a" } }),
    "a Deployment with another account": child(DEPLOYMENT, { spec: { serviceAccountName: "b" } }),
    "a Deployment that is recreated": child(DEPLOYMENT, { spec: { strategy: { type: "Recreate" } } }),
    "a Deployment that is updated": child(DEPLOYMENT, {
      spec: { strategy: { rollingUpdate: { maxSurge: "1" } } },
    }),
  },
  {
    "a Service": child(SERVICE, { spec: {} }),
    "a Service without an address": child(SERVICE, { spec: { clusterIP: "None" } }),
    "a Service with a port": child(SERVICE, { spec: { ports: [{ name: "p", port: 1 }] } }),
  },
  {
    "a Secret of texts": child(SECRET, { stringData: { a: "1", b: "2" } }),
    "a Secret of bytes": child(SECRET, { data: { a: "MQ==" } }),
    "an empty Secret": child(SECRET, {}),
  },
];

/** What webhooks make of each write. */
const WEBHOOKS: Readonly<
  Record<string, (next: Manifest, before: KubernetesObject | undefined, nth: number) => Manifest>
> = {
  "no webhook": (next) => next,
  "a webhook that stamps": (next, _, nth) => ({
    ...next,
    metadata: { ...next.metadata, annotations: { ...next.metadata.annotations, stamp: String(nth) } },
  }),
  "a webhook that brings back what is taken away": (next, before) =>
    ({ ...next, spec: restored(next["spec"], before?.["spec"]) }) as Manifest,
  "a webhook that stamps, and brings back what is taken away": (next, before, nth) =>
    ({
      ...next,
      metadata: { ...next.metadata, annotations: { ...next.metadata.annotations, stamp: String(nth) } },
      spec: restored(next["spec"], before?.["spec"]),
    }) as Manifest,
};

function restored(now: unknown, old: unknown): unknown {
  if (typeof old !== "object" || old === null || Array.isArray(old)) return now ?? old;
  if (typeof now !== "object" || now === null || Array.isArray(now)) return now ?? old;
  const keys = new Set([...Object.keys(old), ...Object.keys(now)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, restored((now as JsonObject)[key], (old as JsonObject)[key])]),
  );
}

/** The kinds behind a webhook. The engine may not write an object against it for ever. */
function behind(webhook: string): ServedKind[] {
  let nth = 0;
  return BUILT_IN_KINDS.map((kind) => ({
    ...kind,
    admit: (next, before) => {
      nth += 1;
      const seen = WEBHOOKS[webhook]?.(next, before, nth) ?? next;
      return kind.admit?.(seen, before) ?? seen;
    },
  }));
}

function objectsOf({ api }: NetWorld, plural: string): KubernetesObject[] {
  const group = plural === "deployments" ? "apis/apps/v1" : "api/v1";
  return api.list(new URL(`https://api/${group}/${plural}`)).items;
}

/** The children of a name, without the stamps of webhooks. */
function contentOf(world: NetWorld, name: string): JsonObject[] {
  return ["deployments", "services", "secrets"].flatMap((plural) =>
    objectsOf(world, plural)
      .filter(({ metadata }) => metadata.name === name)
      .map(({ kind, metadata, ...content }) => {
        const { stamp: _, ...annotations } = metadata.annotations ?? {};
        return { kind, labels: metadata.labels, annotations, ...content } as unknown as JsonObject;
      }),
  );
}

/** Why an object is refused. Undefined: it is applied. */
function whyNot({ api }: NetWorld, name: string): string | undefined {
  const all = api.list(new URL("https://api/apis/kills.example.com/v1/things")).items;
  const object = all.find(({ metadata }) => metadata.name === name);
  const ready = conditionsIn(object?.["status"]).find(({ type }) => type === "Ready");
  assert.ok(ready);
  // No kubelet runs the pods.
  return ready.status === "True" || ready.reason === "ChildrenNotReady"
    ? undefined
    : `${ready.reason}: ${ready.message}`;
}

/** Users apply an object for each of these children. It has the child's name: `t0`, `t1` and so on. */
function eachOf(children: readonly JsonObject[]): Act {
  const named = children.map((each, nth) => ({ ...each, metadata: { name: `t${nth}` } }));
  return together(...named.map((each) => thing(() => ({ children: [each] }), {}, each.metadata)));
}

describe("a child becomes what a new one would be, or the object says why not:", () => {
  const transitions = WANTED.flatMap((family) =>
    Object.entries(family).flatMap(([to, last]) =>
      Object.entries(family).map(([from, first]) => ({ what: `from ${from} to ${to}`, first, last })),
    ),
  );
  const come = eachOf(transitions.map(({ first }) => first));
  const become = eachOf(transitions.map(({ last }) => last));

  for (const update of ["apply", "recreate"] as const) {
    for (const webhook of Object.keys(WEBHOOKS)) {
      it(`with update: ${update}, and ${webhook}`, async () => {
        const runOf = (...acts: Act[]) =>
          runScenario({ name: webhook, operator: operatorWith(update), acts }, {}, behind(webhook));
        const { world, writes } = await runOf(come, become);
        const { world: fresh } = await runOf(become);
        for (const [nth, { what }] of transitions.entries()) {
          const name = `t${nth}`;
          const ours = writes.filter((write) => write.includes(`/${name} `) || write.includes(`/${name}/`));
          assert.ok(ours.length > 0 && ours.length < MOST_WRITES, `${what}: ${ours}`);
          const why = whyNot(world, name);
          if (why !== undefined) assert.match(why, /^ChildRefused: .*spec\./, what);
          // What a webhook brings back, no operator takes away.
          else if (!webhook.includes("back"))
            assert.deepEqual(contentOf(world, name), contentOf(fresh, name), what);
        }
      });
    }
  }
});

describe("whatever a handler returns is written as it is, or the object says which field is refused:", () => {
  const ODD = ["text", "", 1, 0.5, true, null, [], ["a"], {}, { a: "b" }, "number:20241126101602123"];

  for (const field of ["data", "stringData"]) {
    it(`of a Secret's ${field}`, async () => {
      const children = ODD.map((value) =>
        child(SECRET, { [field]: { good: "Z29vZA==", k: value } } as JsonObject),
      );
      const { world } = await runScenario({ name: field, acts: [eachOf(children)] }, {}, BUILT_IN_KINDS);
      for (const [nth, value] of ODD.entries()) {
        const what = `${field}: ${JSON.stringify(value)}`;
        const why = whyNot(world, `t${nth}`);
        const secret = objectsOf(world, "secrets").find(({ metadata }) => metadata.name === `t${nth}`);
        if (why !== undefined) assert.match(why, new RegExp(`\\.${field}\\.k\\b`), what);
        else {
          const { k } = (secret?.["data"] ?? {}) as JsonObject;
          assert.equal(
            field === "data" ? k : Buffer.from(String(k ?? ""), "base64").toString(),
            value ?? "",
            what,
          );
        }
      }
    });
  }
});

/** Whoever undoes a child: when, and by what. */
interface Undoing {
  readonly child: JsonObject;
  readonly plural: string;
  /** How long after the operator's write, in milliseconds. */
  readonly afterMs: number;
  readonly by: (object: KubernetesObject, ground: Ground) => Promise<unknown>;
}

/** Does it again and again. @returns how many times, in the first half and in the second one */
async function undo(
  { plural, afterMs, by }: Undoing,
  world: NetWorld,
  lastsMs: number,
): Promise<[number, number]> {
  const times: [number, number] = [0, 0];
  const { ground } = world;
  const isUndone = new Set<string>();
  const from = performance.now();
  while (performance.now() - from < lastsMs) {
    await ground.wait(Math.min(afterMs, 60_000));
    const [object] = world.api.list(new URL(`https://api/${GROUPS[plural] ?? "api/v1"}/${plural}`)).items;
    const isOurs =
      object?.metadata.labels?.[CHILD_OF_LABEL] && !isUndone.has(object.metadata.resourceVersion);
    if (
      !object ||
      !isOurs ||
      Date.now() - Date.parse(object.metadata.creationTimestamp ?? "") < afterMs - 1_000
    )
      continue;
    await by(object, ground);
    const now = await ground.objects.find(object);
    if (now) isUndone.add(now.metadata.resourceVersion);
    times[performance.now() - from < lastsMs / 2 ? 0 : 1] += 1;
  }
  return times;
}

const GROUPS: Readonly<Record<string, string>> = {
  jobs: "apis/batch/v1",
  parts: "apis/kills.example.com/v1",
};
const CONFIG_MAP = { ...child({ apiVersion: "v1", kind: "ConfigMap" }, { data: { v: "1" } }) };
const PART = { ...child(PARTS, { spec: { v: "1" } }) };
const jobFor = (seconds?: number) =>
  child(
    { apiVersion: "batch/v1", kind: "Job" },
    {
      spec: {
        ...(seconds !== undefined && { ttlSecondsAfterFinished: seconds }),
        template: { spec: { containers: [{ name: "main", image: "i" }] } },
      },
    },
  );
const deletes: Undoing["by"] = (object, { objects }) => objects.delete(object);
const changes =
  (content: JsonObject): Undoing["by"] =>
  (object, { objects }) =>
    objects.patch(object, content);
/** As the kind's own controller, which reports soon after each write. */
const reports =
  (by: Undoing["by"]): Undoing["by"] =>
  async (object, ground) => {
    const parts = { ...PARTS, plural: "parts", namespaced: true };
    const { namespace = "", name } = object.metadata;
    await by(object, ground);
    await ground.objects.client
      .mergePatch(parts, { namespace, name }, { status: { at: Date.now() } }, "status")
      .catch(() => {});
  };

const UNDOING: Readonly<Record<string, Undoing>> = {
  "changes a ConfigMap": {
    child: CONFIG_MAP,
    plural: "configmaps",
    afterMs: 200,
    by: changes({ data: { v: "2" } }),
  },
  "deletes a ConfigMap": { child: CONFIG_MAP, plural: "configmaps", afterMs: 200, by: deletes },
  "takes a label away": {
    child: CONFIG_MAP,
    plural: "configmaps",
    afterMs: 200,
    by: changes({ metadata: { labels: { [CHILD_OF_LABEL]: "other" } } }),
  },
  "changes what reports": {
    child: PART,
    plural: "parts",
    afterMs: 200,
    by: reports(changes({ spec: { v: "2" } })),
  },
  "deletes a Job": { child: jobFor(), plural: "jobs", afterMs: 200, by: deletes },
  "deletes a Job that has ended, at once": { child: jobFor(0), plural: "jobs", afterMs: 1_000, by: deletes },
  "deletes a Job that has ended, an hour later": {
    child: jobFor(3_600),
    plural: "jobs",
    afterMs: 3_600_000,
    by: deletes,
  },
};
/** How often a child is undone until it counts. */
const ROUNDS = 10;

describe("another client undoes a child again and again: the operator says so, becomes slower, and is right again in the end", () => {
  for (const [what, undoing] of Object.entries(UNDOING)) {
    it(what, async () => {
      const scenario: Scenario = { name: what, acts: [thing(() => ({ children: [undoing.child] }))] };
      const lastsMs = Math.max(10 * 60_000, 5 * undoing.afterMs);
      let times: [number, number] = [0, 0];
      const { world } = await runScenario(scenario, {
        after: async (place) => {
          const undone = undo(undoing, place, lastsMs);
          for (let ms = 0; ms < lastsMs; ms += WAIT_MS) await place.steady(place.ground.wait(WAIT_MS));
          times = await place.steady(undone);
          await place.steady(place.ground.wait(60_000));
          await place.rest();
        },
      });
      const [first, second] = times;
      assert.ok(first + second >= Math.min(ROUNDS, lastsMs / undoing.afterMs - 1), `only ${times}`);
      assert.ok(second <= lastsMs / 2 / SLOWEST_MS, `still ${times}`);
      const warned = world.api.log.some(
        ({ after }) => after?.kind === "Event" && after["type"] === "Warning",
      );
      assert.ok(warned, "nothing was said");
      const plain = (content: unknown) => JSON.stringify(content);
      const [end] = world.api.list(
        new URL(`https://api/${GROUPS[undoing.plural] ?? "api/v1"}/${undoing.plural}`),
      ).items;
      for (const field of ["data", "spec"]) assert.equal(plain(end?.[field]), plain(undoing.child[field]));
      assert.ok(end?.metadata.labels?.[CHILD_OF_LABEL]);
    });
  }
});
