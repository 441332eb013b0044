import {
  ADOPT_ANNOTATION,
  AFTER_ANNOTATION,
  EVENT_LABEL,
  ONCE_ANNOTATION,
  USED_BY_LABEL,
} from "../../../runtime/base/names";
import type { JsonObject, Manifest } from "../../../runtime/base/objects";
import type { HandlerQuestion } from "../../../runtime/handler/contract";
import type { Operator } from "../../../runtime/operator/definition";
import type { Objects } from "../../objects";
import type { Crash, Late } from "./inProcess";

/** Where a scenario takes place. */
export interface Ground {
  /** The cluster as its users see it. */
  readonly objects: Objects;
  /** The name of the operator. */
  readonly operator: string;
  /** The namespace of the objects. */
  readonly namespace: string;
  /** Where no owner reference reaches. */
  readonly far: string;
  /** Lets this time pass, in milliseconds. */
  readonly wait: (ms: number) => Promise<void>;
}

/** Something that users or other controllers do. */
export type Act = (ground: Ground) => Promise<unknown>;

/** A handler in this process. It hangs if it answers undefined. */
export type Handler = (question: HandlerQuestion) => JsonObject | Crash | Late | undefined;

/** What an operator is given, and what becomes of it. */
export interface Scenario {
  readonly name: string;
  /** What differs from {@link BASE}. */
  readonly operator?: (ground: Ground) => Partial<Operator>;
  /** The operator that does the work of `given`. A process of `operator` begins after that. @default the same process goes on */
  readonly before?: (ground: Ground) => Partial<Operator>;
  /** What there is before the first kill. @default nothing */
  readonly given?: Act;
  /** What happens then, one after the other, each when the operator is at rest. */
  readonly acts: readonly Act[];
  /** Whether the end depends on what handlers answered before. @default false */
  readonly remembers?: boolean;
  /** Whether an object fails for a while, so that its next try may be some minutes away. @default false */
  readonly isPatient?: boolean;
  /** The names of children in the order in which they must go. @default none */
  readonly order?: readonly string[];
  /** Whether the scenario also runs on a real API server. False if hours must pass, or if nothing is written. @default true */
  readonly isReal?: boolean;
}

/** The kind of the objects. */
export const THINGS = { apiVersion: "kills.example.com/v1", kind: "Thing" };
/** A kind of children that are ready once a scenario sets their condition. */
export const PARTS = { apiVersion: "kills.example.com/v1", kind: "Part" };
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const SECRET = { apiVersion: "v1", kind: "Secret" };
const JOB = { apiVersion: "batch/v1", kind: "Job" };
export const ROLE = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };

/** The namespace of the engines. */
export const HOME = "argosy";

/** The kinds whose objects are compared. */
export const COMPARED = [
  THINGS,
  PARTS,
  CONFIG_MAP,
  SECRET,
  JOB,
  ROLE,
  { apiVersion: "argosy.dev/v1", kind: "Memory" },
];

/** An operator with every default, whose handler is {@link answerOf}. */
export const BASE: Omit<Operator, "name" | "namespaces"> = {
  installation: "argosy",
  formerNames: [],
  folder: "/nowhere",
  overridden: [],
  handler: { image: "none", command: ["none"] },
  children: [
    { ...CONFIG_MAP, update: "apply", plural: "configmaps" },
    { ...SECRET, update: "apply", plural: "secrets" },
    { ...PARTS, update: "apply", plural: "parts" },
    { ...JOB, update: "recreate", plural: "jobs" },
    { ...ROLE, update: "apply", plural: "clusterroles" },
  ],
  customResource: {
    group: "kills.example.com",
    version: "v1",
    kind: "Thing",
    plural: "things",
    namespaced: true,
  },
  crd: {},
  execution: "resident",
  concurrency: 4,
  timeoutSeconds: 30,
  resyncSeconds: 150,
  finalize: false,
  resources: {},
  env: {},
  secretEnv: {},
  record: "changes",
  rules: [],
  grants: [],
  uses: {},
};

/** What a handler answers: whatever the object's spec says, and what it is shown. */
export function answerOf({ object, event, used, due, state, children }: HandlerQuestion): JsonObject {
  const { answer = {}, finalized = true, counts = false } = (object["spec"] ?? {}) as JsonObject;
  const given = answer as JsonObject;
  if (event === "finalize") return { finalized };
  if (given["error"]) return { error: given["error"] };
  const secret = (used["token"] as { data?: JsonObject } | undefined)?.data ?? {};
  const last = due[0]?.at ?? (object["status"] as JsonObject | undefined)?.["last"];
  const watched = object.kind === "ConfigMap" && {
    children: [child(CONFIG_MAP, `of-${object.metadata.name}`, { data: object["data"] as JsonObject })],
    state: {
      seen: [...new Set([...((state?.["seen"] as string[]) ?? []), (object["data"] as JsonObject)["v"]])],
    },
  };
  return {
    children: [],
    ...given,
    ...(Object.keys(secret).length > 0 && {
      children: [child(CONFIG_MAP, "copy", { data: { of: Object.values(secret).join() } })],
    }),
    ...(last !== undefined && {
      children: [child(CONFIG_MAP, "dated", { data: { at: last } })],
      status: { last },
    }),
    ...(counts && { status: { children: children.length } }),
    ...watched,
  } as JsonObject;
}

/** A manifest without its namespace. */
function child(
  kind: typeof CONFIG_MAP,
  name: string,
  content: JsonObject = {},
  annotations?: Record<string, string>,
  namespace?: string,
): JsonObject {
  const metadata = {
    name,
    ...(annotations && { annotations }),
    ...(namespace !== undefined && { namespace }),
  };
  return { ...kind, metadata, ...content };
}

const map = (name: string, v = "1", annotations?: Record<string, string>) =>
  child(CONFIG_MAP, name, { data: { v } }, annotations);
const far = (ground: Ground, name: string, v = "1") =>
  child(CONFIG_MAP, name, { data: { v } }, undefined, ground.far);
const job = (name: string, v: string, annotations?: Record<string, string>) => {
  const containers = [{ name: "main", image: v }];
  const template = { spec: { containers, restartPolicy: "Never" } };
  return child(JOB, name, { spec: { suspend: true, template } }, annotations);
};

/** Users apply an object whose handler gives this answer. */
export function thing(
  answer: (ground: Ground) => JsonObject,
  spec: JsonObject = {},
  metadata: JsonObject = {},
): Act {
  return (ground) =>
    ground.objects.apply({
      ...THINGS,
      metadata: { name: "one", namespace: ground.namespace, ...metadata },
      spec: { answer: answer(ground), ...spec },
    } as Manifest);
}

const children = (...list: JsonObject[]) => thing(() => ({ children: list }));
const remove =
  (kind: typeof CONFIG_MAP, name: string): Act =>
  ({ objects, namespace }) =>
    objects.delete({ ...kind, metadata: { name, namespace } });
const deleted = remove(THINGS, "one");
const put =
  (kind: typeof CONFIG_MAP, name: string, content: JsonObject, metadata: JsonObject = {}): Act =>
  ({ objects, namespace }) =>
    objects.apply({ ...kind, metadata: { name, namespace, ...metadata }, ...content } as Manifest);
const readied =
  (name: string): Act =>
  async ({ objects, namespace, wait }) => {
    while (!(await objects.find({ ...PARTS, metadata: { name, namespace } }))) await wait(500);
    const conditions = [
      {
        type: "Ready",
        status: "True",
        reason: "Done",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ];
    const { client } = objects;
    const parts = { ...PARTS, plural: "parts", namespaced: true };
    await client.mergePatch(parts, { namespace, name }, { status: { conditions } }, "status");
  };
/** Sets the finalizers of a child, if it exists: another handler may not want it. */
const holding =
  (name: string, finalizers: string[] | null): Act =>
  async ({ objects, namespace }) => {
    const reference = { ...CONFIG_MAP, metadata: { name, namespace } };
    if (await objects.find(reference)) await objects.patch(reference, { metadata: { finalizers } });
  };
const role = ({ operator }: Ground) => child(ROLE, `${operator}-role`, { rules: [] });
const never = {
  children: BASE.children.map((each) =>
    each.kind === "ConfigMap" ? { ...each, update: "never" as const } : each,
  ),
};
const token =
  (k: string): Act =>
  (ground) =>
    put(
      SECRET,
      "token",
      { data: { k } },
      { labels: { [USED_BY_LABEL]: `argosy.${ground.operator}` } },
    )(ground);
const HOURLY = { hourly: { cron: "0 * * * *", timeZone: "UTC", spreadSeconds: 0 } };

/** Every scenario. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: "create",
    acts: [
      thing(() => ({
        children: [map("a"), map("b"), child(SECRET, "s", { stringData: { k: "v" } })],
        status: { size: 3 },
      })),
    ],
  },
  {
    name: "change",
    given: children(map("a"), map("b"), map("c")),
    acts: [thing(() => ({ children: [map("a", "2"), map("c"), map("d")], status: { size: 2 } }))],
  },
  { name: "rename of a child", given: children(map("a")), acts: [children(map("z"))] },
  {
    name: "children elsewhere",
    acts: [
      thing((ground) => ({ children: [map("near"), far(ground, "far"), role(ground)] })),
      thing((ground) => ({ children: [map("near"), far(ground, "far", "2"), far(ground, "further")] })),
      deleted,
    ],
  },
  {
    name: "a child comes home",
    given: thing((ground) => ({ children: [far(ground, "a")] })),
    acts: [children(map("a"))],
  },
  {
    name: "after",
    acts: [
      thing(({ far: namespace }) => ({
        children: [
          child(PARTS, "first"),
          map("second", "1", { [AFTER_ANNOTATION]: "Part/first" }),
          child(CONFIG_MAP, "third", {}, { [AFTER_ANNOTATION]: "ConfigMap/second" }, namespace),
        ],
      })),
      readied("first"),
    ],
  },
  {
    name: "deletion in the order of after",
    operator: () => ({ finalize: true }),
    given: thing(({ far: namespace }) => ({
      children: [
        map("first"),
        child(CONFIG_MAP, "second", {}, { [AFTER_ANNOTATION]: "ConfigMap/first" }, namespace),
        map("third", "1", { [AFTER_ANNOTATION]: "ConfigMap/second" }),
      ],
    })),
    acts: [holding("third", ["example.com/hold"]), deleted, holding("third", null)],
    order: ["third", "second", "first"],
  },
  {
    name: "once",
    remembers: true,
    acts: [
      children(job("j", "1", { [ONCE_ANNOTATION]: "true" }), map("o", "1", { [ONCE_ANNOTATION]: "true" })),
      remove(CONFIG_MAP, "o"),
      remove(JOB, "j"),
      children(job("j", "2", { [ONCE_ANNOTATION]: "true" }), map("p")),
    ],
  },
  {
    name: "never",
    remembers: true,
    operator: () => never,
    acts: [
      children(map("a"), map("b")),
      children(map("a", "2"), map("b", "2")),
      remove(CONFIG_MAP, "a"),
      put(CONFIG_MAP, "b", {}, { labels: { "argosy.dev/owner-uid": "nobody" } }),
    ],
  },
  { name: "recreate", given: children(job("j", "1")), acts: [children(job("j", "2"))] },
  {
    name: "retired",
    before: () => ({}),
    operator: () => ({
      children: BASE.children.map((each) => (each.kind === "Part" ? { ...each, retired: true } : each)),
    }),
    given: thing(({ far: namespace }) => ({
      children: [child(PARTS, "near"), child(PARTS, "far", {}, undefined, namespace)],
    })),
    acts: [children(map("a"))],
  },
  {
    name: "adoption",
    given: put(
      CONFIG_MAP,
      "a",
      { data: { v: "0", theirs: "1" } },
      { annotations: { [ADOPT_ANNOTATION]: "true" } },
    ),
    acts: [children(map("a")), children(map("a", "2")), deleted],
  },
  {
    name: "former name",
    before: ({ operator }) => ({ name: `${operator}-old`, finalize: true }),
    operator: ({ operator }) => ({ formerNames: [`${operator}-old`], finalize: true }),
    given: thing((ground) => ({ children: [map("a"), map("b"), far(ground, "far")], status: { size: 1 } })),
    acts: [thing((ground) => ({ children: [map("a", "2"), far(ground, "far")] })), deleted],
  },
  {
    name: "watch with state",
    remembers: true,
    operator: () => ({
      customResource: { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true },
      watch: { labels: { watched: "yes" }, on: ["spec"] },
    }),
    given: put(CONFIG_MAP, "w", { data: { v: "1" } }, { labels: { watched: "yes" } }),
    acts: [
      put(CONFIG_MAP, "w", { data: { v: "2" } }, { labels: { watched: "yes" } }),
      put(CONFIG_MAP, "x", { data: { v: "1" } }, { labels: { watched: "yes" } }),
      put(CONFIG_MAP, "x", { data: { v: "1" } }),
      remove(CONFIG_MAP, "w"),
    ],
  },
  {
    name: "a schedule is due",
    remembers: true,
    operator: () => ({ schedules: HOURLY }),
    acts: [children(map("a")), ({ wait }) => wait(180_000)],
    isReal: false,
  },
  {
    name: "a used Secret",
    operator: () => ({
      uses: { token: { apiVersion: "v1", kind: "Secret", plural: "secrets", name: "spec.secret" } },
    }),
    given: token("djE="),
    acts: [thing(() => ({}), { secret: "token" }), token("djI=")],
  },
  {
    name: "finalize",
    operator: () => ({ finalize: true }),
    acts: [thing((ground) => ({ children: [map("a"), far(ground, "far")] })), deleted],
  },
  {
    name: "not finalized yet",
    operator: () => ({ finalize: true }),
    given: thing((ground) => ({ children: [map("a"), far(ground, "far")] }), { finalized: false }),
    acts: [deleted, thing((ground) => ({ children: [map("a"), far(ground, "far")] }), { finalized: true })],
    isPatient: true,
  },
  {
    name: "expiry",
    operator: () => ({ eventTtls: { order: 60 } }),
    acts: [
      ({ objects, namespace, operator }) =>
        objects.apply(
          {
            ...THINGS,
            metadata: { name: "order-1", namespace, labels: { [EVENT_LABEL]: "order" } },
            spec: { answer: { children: [map("a")] } },
          } as Manifest,
          `argosy/argosy.${operator}/intake`,
        ),
      ({ wait }) => wait(240_000),
    ],
    isReal: false,
  },
  {
    name: "reports",
    acts: [
      thing(() => ({
        children: [],
        conditions: [{ type: "Warm", status: "True", reason: "Sun", message: "It is warm" }],
        events: [{ type: "Normal", reason: "Seen", note: "It was seen" }],
      })),
      thing(() => ({ children: [], events: [{ type: "Warning", reason: "Rain", note: "It rains" }] })),
    ],
  },
  {
    name: "a failure and its end",
    given: children(map("a")),
    acts: [thing(() => ({ error: { message: "no", permanent: true } })), children(map("b"))],
  },
  {
    name: "a name is taken",
    given: put(CONFIG_MAP, "a", { data: { v: "theirs" } }),
    acts: [children(map("a"), map("b")), remove(CONFIG_MAP, "a")],
    isPatient: true,
  },
  {
    name: "damage",
    given: thing((ground) => ({ children: [map("a"), map("b"), far(ground, "far")], status: { size: 1 } })),
    acts: [
      put(CONFIG_MAP, "a", { data: { v: "9", more: "1" } }),
      remove(CONFIG_MAP, "b"),
      ({ objects, namespace }) =>
        objects.patch(
          { ...THINGS, metadata: { name: "one", namespace } },
          { metadata: { finalizers: null } },
        ),
    ],
  },
  {
    name: "deleted and created again",
    given: thing((ground) => ({ children: [map("a"), far(ground, "far")] })),
    acts: [
      async (ground) => {
        const { objects, namespace, wait } = ground;
        await deleted(ground);
        while (await objects.find({ ...THINGS, metadata: { name: "one", namespace } })) await wait(100);
        await thing(() => ({ children: [map("a", "2"), far(ground, "far")] }))(ground);
      },
    ],
  },
  {
    name: "deleted without its children",
    given: children(map("a"), map("b")),
    acts: [
      ({ objects, namespace }) =>
        objects.delete({ ...THINGS, metadata: { name: "one", namespace } }, "Orphan"),
    ],
    isReal: false,
  },
];
