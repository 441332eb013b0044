import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { statusChecker } from "../../runtime/base/contentSchema";
import { ReconcileFailure } from "../../runtime/base/failure";
import { MOST_LEVELS } from "../../runtime/base/json";
import { MOST_GIVEN_BYTES, questionAbout, type ReconcileAnswer } from "../../runtime/handler/contract";
import {
  LONGEST_ANSWER_BYTES,
  MOST_CHILDREN,
  readAnswerLine,
  textOf,
  unknownId,
} from "../../runtime/handler/parseAnswer";
import type { Operator } from "../../runtime/operator/definition";
import { askHandler } from "../../runtime/reconcile/ask";
import { desiredChildren } from "../../runtime/write/desiredChildren";
import { table } from "../../tools/reference/table";
import { assertGolden } from "./support/goldenFile";
import { CLUSTER_ROLES, CONFIG_MAPS, globalWidget, operator, widget } from "./support/objects";

const ROOT = path.join(__dirname, "../..");
const MEBI = 1024 * 1024;

/** Where an answer is asked for. */
interface Place {
  readonly event?: "reconcile" | "finalize";
  readonly operator?: Partial<Operator>;
  readonly object?: ReturnType<typeof widget>;
}

/** A row of docs/reference/refused-answers.md, with answers which it refuses, and such as are just accepted. */
interface Row {
  readonly part: string;
  /** How each message names the part. */
  readonly named?: string;
  /** The answers are at and beyond the limits in it. */
  readonly refusedIf: string;
  readonly refused: readonly (Answer | readonly [Answer, Place])[];
  readonly accepted?: readonly (Answer | readonly [Answer, Place])[];
}
type Answer = object | string | Buffer;

const child = (more: object = {}, metadata: object = {}) => ({
  ...{ apiVersion: "v1", kind: "ConfigMap" },
  metadata: { name: "settings", ...metadata },
  ...more,
});
const made = (...children: unknown[]) => ({ children });
const named = (metadata: object) => made(child({}, metadata));
const marked = (annotations: object) => named({ annotations });
const annotatedBy = (name: string) => marked({ [`argosy.dev/${name}`]: "" });
const labelled = (labels: object) => named({ labels });
const labelledBy = (name: string) => labelled({ [`argosy.dev/${name}`]: "" });
const also = (more: object) => ({ children: [], ...more });
const condition = (more: object = {}) => ({
  ...{ type: "DataReady", status: "True", reason: "Loaded", message: "" },
  ...more,
});
const conditions = (more: object) => also({ conditions: [condition(more)] });
const event = (more: object = {}) => ({ type: "Normal", reason: "Saved", note: "to s3", ...more });
const events = (more: object) => also({ events: [event(more)] });
const deep = (levels: number) => {
  const inner = `${'{"a":'.repeat(levels - 3)}1${"}".repeat(levels - 3)}`;
  return `{"children":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":${inner}}]}`;
};
const OURS = { kind: "Widget", name: "widget", uid: "widget-uid" };
const WATCH: Place = {
  operator: { watch: { labels: { app: "web" }, on: ["spec"] }, children: [...childKinds(), ...widgetKind()] },
};
const FINALIZE: Place = { event: "finalize" };
const x = (count: number) => "x".repeat(count);

function childKinds(): Operator["children"] {
  return [
    { ...CONFIG_MAPS, update: "apply" },
    { ...CLUSTER_ROLES, update: "apply", retired: true },
  ];
}
function widgetKind(): Operator["children"] {
  return [{ apiVersion: "shop.example.com/v1", kind: "Widget", plural: "widgets", update: "apply" }];
}

const ROWS: readonly Row[] = [
  {
    part: "the line",
    refusedIf: `it is longer than ${LONGEST_ANSWER_BYTES / MEBI} MiB, or is not UTF-8, not JSON or not an object; it is nested more than ${MOST_LEVELS} levels deep; a number is not finite (\`1e999\`); an object has a key twice`,
    refused: [
      Buffer.from([0x7b, 0xff]),
      "no json",
      "[]",
      deep(501),
      '{"children":[],"status":{"a":1e999}}',
      '{"children":[],"children":[]}',
      String.raw`{"children":[],"status":{"a":{"b c":1,"x":[],"b\u0020c" : 1}}}`,
    ],
    accepted: [
      deep(500),
      [
        String.raw`{"children":[],"state":{"a":{"a":1,"b\\":[{"a":2},{"a":3}]},"__proto__":{"a":":"},"c":"\":","d":"\":"}}`,
        WATCH,
      ],
    ],
  },
  {
    part: "a key",
    refusedIf:
      "the contract does not name it at its place in the answer, in a condition, in an event or in `error`",
    refused: [
      also({ more: 1 }),
      conditions({ more: 1 }),
      events({ more: 1 }),
      { error: { message: "x", more: 1 } },
      [{ finalized: true, children: [] }, FINALIZE],
    ],
    accepted: [also({ error: null }), [{ finalized: true, children: null }, FINALIZE]],
  },
  {
    part: "a string",
    refusedIf:
      "it is in `children`, `state` or `status` and has half of a character: a surrogate without its other half",
    refused: [
      named({ labels: { a: "\ud800" } }),
      also({ status: { "\ud800": 1 } }),
      [also({ state: { a: "\udc00" } }), WATCH],
    ],
  },
  {
    part: "`children`",
    named: "children",
    refusedIf: `it is not a list, or has more than ${MOST_CHILDREN.toLocaleString("en")} entries; an entry is not an object`,
    refused: [{}, { children: null }, made(...Array(5_001).fill(child())), made(1)],
    accepted: [made(...Array.from({ length: 5_000 }, (_, index) => child({}, { name: `n${index}` })))],
  },
  {
    part: "a child",
    named: "children[",
    refusedIf:
      "`apiVersion` or `kind` is not a string or is empty; its kind is not declared, or is `retired`; the answer contains the same child twice; with `watch`: it is the watched object itself, or has the labels by which its operator would watch it too",
    refused: [
      made(child({ apiVersion: "" })),
      made(child({ kind: 1 })),
      made(child({ kind: "Pod" })),
      [made(child()), { operator: { children: [] } }],
      made(child({ kind: CLUSTER_ROLES.kind, apiVersion: CLUSTER_ROLES.apiVersion })),
      made(child(), child()),
      [made(child({ apiVersion: "shop.example.com/v1", kind: "Widget" }, { labels: { app: "web" } })), WATCH],
      [made(child({ apiVersion: "shop.example.com/v1", kind: "Widget" }, { name: "widget" })), WATCH],
    ],
  },
  {
    part: "a child's `metadata`",
    named: "children[0]",
    refusedIf:
      "it is not an object; `name` is missing (`generateName` is not enough), or it or `namespace` is not a name that Kubernetes allows, of at most 253 characters; `labels` or `annotations` is not an object of strings; `finalizers` is not a list of strings, or has one of the operator's own; `ownerReferences` is not a list of objects with `kind`, `name` and `uid`, or names another object than the child's owner",
    refused: [
      made(child({ metadata: 1 })),
      named({ name: null }),
      named({ name: null, generateName: "a-" }),
      named({ name: "a/b" }),
      named({ name: "A_b" }),
      named({ name: x(254) }),
      named({ namespace: x(254) }),
      named({ namespace: "" }),
      named({ labels: [] }),
      named({ labels: { a: 1 } }),
      named({ annotations: { a: null } }),
      named({ finalizers: [1] }),
      named({ finalizers: ["argosy.dev/argosy.shop"] }),
      named({ ownerReferences: {} }),
      named({ ownerReferences: [{ kind: "Widget", name: "widget" }] }),
      named({ ownerReferences: [{ kind: "Widget", name: "widget", uid: "another" }] }),
      named({ ownerReferences: [OURS, { kind: "Widget", name: "another", uid: "another" }] }),
    ],
    accepted: [
      named({ name: x(253) }),
      named({ namespace: null, labels: null, annotations: null, finalizers: null, ownerReferences: null }),
      named({ ownerReferences: [OURS] }),
    ],
  },
  {
    part: "a child's namespace",
    named: "namespace",
    refusedIf: "it is missing, and the object itself has none; it is not among the operator's `namespaces`",
    refused: [
      [made(child()), { object: globalWidget() }],
      [named({ namespace: "away" }), { operator: { namespaces: ["shop"] } }],
    ],
    accepted: [
      [named({ namespace: "shop" }), { object: globalWidget() }],
      [made(child(), child({}, { namespace: "away" })), { operator: { namespaces: ["shop", "away"] } }],
    ],
  },
  {
    part: "a child's marks",
    named: "argosy.dev/",
    refusedIf:
      "it has an annotation that begins with `argosy.dev/`, other than `after`, `once`, `adopt`, `paused`, `skip-finalize`, `reconcile-at`, `owner`, `level`, `event-id`, `event-content` and `program`; it has a label that begins with `argosy.dev/`, other than `used-by`, `child-of`, `owner-uid`, `owner-range`, `event`, `operator`, `object-uid` and `trace-id`",
    refused: [
      marked({ "argosy.dev/before": "ConfigMap/a" }),
      marked({ "argosy.dev/keep": "true" }),
      labelled({ "argosy.dev/use-by": "argosy.shop" }),
      labelled({ "argosy.dev/after": "ConfigMap/a" }),
    ],
    accepted: [
      ...["owner", "level", "program", "event-id", "event-content"].map(annotatedBy),
      ...["adopt", "paused", "skip-finalize", "reconcile-at"].map(annotatedBy),
      ...["used-by", "child-of", "owner-uid", "owner-range", "event"].map(labelledBy),
      ...["operator", "object-uid", "trace-id"].map(labelledBy),
    ],
  },
  {
    part: "a child's order",
    named: "argosy.dev/",
    refusedIf:
      '`argosy.dev/once` is neither "true" nor "false"; `argosy.dev/after` has a word of another form than `Kind/name`, `Kind.group/name` or `Kind/namespace/name`, or one that names no child of the answer or several; children wait for each other',
    refused: [
      marked({ "argosy.dev/once": "yes" }),
      marked({ "argosy.dev/after": "settings" }),
      marked({ "argosy.dev/after": "ConfigMap/a" }),
      made(
        child({}, { annotations: { "argosy.dev/after": "ConfigMap/a" } }),
        child({}, { name: "a" }),
        child({}, { name: "a", namespace: "away" }),
      ),
      marked({ "argosy.dev/after": "ConfigMap/settings" }),
    ],
    accepted: [marked({ "argosy.dev/once": "true", "argosy.dev/after": "" })],
  },
  {
    part: "`status`",
    named: "status",
    refusedIf:
      "it is not an object; with `watch`: it is present; it has `conditions` or `argosy`; it does not fit the schema in the CRD",
    refused: [
      also({ status: 1 }),
      [also({ status: {} }), WATCH],
      also({ status: { conditions: [] } }),
      also({ status: { argosy: {} } }),
      also({ status: { replicas: "three" } }),
    ],
    accepted: [also({ status: null }), also({ status: { replicas: 3 } })],
  },
  {
    part: "`state`",
    named: '"state"',
    refusedIf: "it is not an object; without `watch`: it is present; it has more than 64 KiB of JSON",
    refused: [
      [also({ state: 1 }), WATCH],
      also({ state: {} }),
      [also({ state: { a: "é".repeat(32 * 1024) } }), WATCH],
    ],
    accepted: [[also({ state: { a: "é".repeat(32 * 1024 - 4) } }), WATCH]],
  },
  {
    part: "`conditions`",
    named: "conditions",
    refusedIf:
      "it is not a list of objects; with `watch`: it is present; it has more than 16 entries, or two of one type",
    refused: [
      also({ conditions: {} }),
      [also({ conditions: [] }), WATCH],
      also({ conditions: Array.from({ length: 17 }, (_, index) => condition({ type: `Type${index}` })) }),
      also({ conditions: [condition(), condition()] }),
    ],
    accepted: [
      also({ conditions: Array.from({ length: 16 }, (_, index) => condition({ type: `Type${index}` })) }),
    ],
  },
  {
    part: "a condition",
    named: "conditions[0].",
    refusedIf:
      '`type` is not the name of a label, of at most 316 characters, or is Ready, Reconciling or Stalled; `status` is another string than "True", "False" and "Unknown"; `reason` does not begin with a letter, ends with `,` or `:`, has another character than letters, digits, `_`, `,` and `:`, or has more than 1,024 characters; `message` is not a string, or has more than 32,768 characters; it has `lastTransitionTime` or `observedGeneration`',
    refused: [
      conditions({ type: "Data Ready" }),
      conditions({ type: x(317) }),
      ...["Ready", "Reconciling", "Stalled"].map((type) => conditions({ type })),
      conditions({ status: true }),
      ...["not one word", "1st", "a,", "a:", "a-b"].map((reason) => conditions({ reason })),
      conditions({ reason: x(1_025) }),
      conditions({ message: 1 }),
      conditions({ message: x(32_769) }),
      conditions({ lastTransitionTime: "" }),
      conditions({ observedGeneration: 1 }),
    ],
    accepted: [
      conditions({ type: x(316), reason: x(1_024), message: x(32_768) }),
      conditions({ type: "example.com/Data", status: "Unknown", reason: "a,b:c_" }),
    ],
  },
  {
    part: "`events`",
    named: '"events"',
    refusedIf: "it is not a list of objects; it has more than 8 entries",
    refused: [also({ events: {} }), also({ events: Array(9).fill(event()) })],
    accepted: [also({ events: Array(8).fill(event()) })],
  },
  {
    part: "an event",
    named: "events[0].",
    refusedIf:
      '`type` is another string than "Normal" and "Warning"; `reason` does not begin with a capital letter, has another character than letters and digits, or has more than 128 characters; `note` is not a string, is blank, or has more than 32,768 characters',
    refused: [
      events({ type: "Error" }),
      ...["saved", "S-1"].map((reason) => events({ reason })),
      events({ reason: `X${x(128)}` }),
      events({ note: 1 }),
      events({ note: " " }),
      events({ note: x(32_769) }),
    ],
    accepted: [events({ reason: `X${x(127)}`, note: x(32_768) })],
  },
  {
    part: "`requeueAfterSeconds`, `retryAfterSeconds`",
    named: "AfterSeconds",
    refusedIf: "it is not a number from 0 to 604,800",
    refused: [
      also({ requeueAfterSeconds: -1 }),
      also({ requeueAfterSeconds: 604_801 }),
      also({ requeueAfterSeconds: "1" }),
      { error: { message: "x", retryAfterSeconds: 604_801 } },
    ],
    accepted: [also({ requeueAfterSeconds: 604_800 }), also({ requeueAfterSeconds: null })],
  },
  {
    part: "`finalized`",
    named: '"finalized"',
    refusedIf: "it is not a boolean",
    refused: [
      [{}, FINALIZE],
      [{ finalized: "true" }, FINALIZE],
    ],
    accepted: [[{ finalized: false, requeueAfterSeconds: 604_800 }, FINALIZE]],
  },
  {
    part: "`error`",
    refusedIf:
      "it is not an object; `message` is not a string or is empty; `permanent` is not a boolean; another key stands next to `error` and `id`",
    refused: [
      { error: "x" },
      { error: { message: 1 } },
      { error: { message: "" } },
      { error: { message: "x", permanent: 1 } },
      { error: { message: "x" }, children: [] },
    ],
    accepted: [also({ error: null })],
  },
];

/** The functions whose sentences are refusals, by their files. */
const REFUSING: readonly (readonly [file: string, ...functions: string[]])[] = [
  ["runtime/handler/parseAnswer.ts", "invalid", "wrong", "partWithoutPlace"],
  ["runtime/base/failure.ts", "invalid"],
  ["runtime/base/json.ts", "flawOf"],
  ["runtime/observe/marks.ts", "invalid"],
  [
    "runtime/write/desiredChildren.ts",
    "invalid",
    "refuse",
    "undeclared",
    "misnamed",
    "misplaced",
    "whyNotOurs",
  ],
];

/** How an answer is refused, or undefined: it is accepted. */
async function refusalOf(given: Answer, place: Place = {}): Promise<string | undefined> {
  const { event: asked = "reconcile", object = widget() } = place;
  const properties = { replicas: { type: "integer" } };
  const base = operator({ children: childKinds(), ...place.operator });
  const customResource = { ...base.customResource, statusSchema: { type: "object", properties } };
  const ours = { ...base, customResource };
  const line = Buffer.isBuffer(given)
    ? given
    : Buffer.from(typeof given === "string" ? given : JSON.stringify(given));
  const pool = {
    ask: async () => ({ answer: readAnswerLine(textOf(line)).answer, length: line.length, log: "" }),
  };
  const question = questionAbout({ event: asked, object, children: [], attempt: 1 });
  try {
    const { answer } = await askHandler<ReconcileAnswer>(
      pool,
      question,
      statusChecker(customResource.statusSchema),
      !ours.watch,
    );
    const resources = [...RESOURCES, { ...RESOURCES[0], apiVersion: "shop.example.com/v1", kind: "Widget" }];
    if (asked === "reconcile") desiredChildren(answer.children, object, ours, resources as typeof RESOURCES);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ReconcileFailure, String(error));
    assert.equal(error.reason, "InvalidAnswer", error.message);
    return error.message;
  }
}
const RESOURCES = [CONFIG_MAPS, CLUSTER_ROLES];

const asked = (each: Answer | readonly [Answer, Place]): readonly [Answer, Place?] =>
  Array.isArray(each) ? (each as unknown as readonly [Answer, Place]) : [each as Answer];

const INTRODUCTION = `# Refused answers

If an answer breaks one of these rules, the request fails with \`InvalidAnswer\`, whose message names the field. This page is generated from the tests that give such answers to the engine. [The contract](../contract.md#3-answer) defines the answer.
`;

describe("what the contract says is refused, with a golden file", () => {
  const page = readFileSync(path.join(ROOT, "docs/reference/request-and-answer.md"), "utf8");

  for (const { part, named: inMessage = "", refused, accepted = [] } of ROWS) {
    it(`${part}: is refused beyond its limits, and accepted up to them`, async () => {
      for (const each of refused) {
        const message = await refusalOf(...asked(each));
        assert.ok(message, `accepted: ${JSON.stringify(each).slice(0, 200)}`);
        assert.ok(message.includes(inMessage), message);
      }
      for (const each of accepted) assert.equal(await refusalOf(...asked(each)), undefined);
    });
  }

  it("is a page of the reference", () => {
    const rows = ROWS.map(({ part, refusedIf }) => [part, refusedIf]);
    assertGolden(
      "../../docs/reference/refused-answers.md",
      `${INTRODUCTION}\n${table(["part", "refused if"], rows)}`,
    );
  });

  it("is not all: the parts of a request have a limit too", () => {
    const said = [...page.matchAll(/At most (\d+) MiB of JSON/g)].map(([, size]) => Number(size) * MEBI);
    assert.deepEqual(said, [MOST_GIVEN_BYTES, MOST_GIVEN_BYTES]);
  });

  it("is all that the engine refuses: each of its sentences is said of one of these answers", async () => {
    // An id is in section 5 of the contract.
    const said = [unknownId("{}", undefined).message];
    for (const each of ROWS.flatMap(({ refused }) => refused))
      said.push((await refusalOf(...asked(each))) ?? "");
    const sentences = REFUSING.flatMap(([file, ...functions]) => sentencesIn(file, functions));
    assert.ok(sentences.length > 40, `${sentences.length} sentences`);
    const unsaid = sentences.filter((sentence) => !said.some((message) => sentence.test(message)));
    assert.deepEqual(unsaid, []);
  });
});

/** The sentences that calls of these functions are given, or that these functions return, as patterns. */
function sentencesIn(file: string, functions: readonly string[]): RegExp[] {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  const found: RegExp[] = [];
  const take = (node: ts.Node): void => {
    if (ts.isTemplateExpression(node)) {
      const parts = [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
      if (parts.join("").includes(" ")) found.push(new RegExp(parts.map(literal).join(".*"), "s"));
    } else if (ts.isStringLiteralLike(node)) {
      if (node.text.includes(" ")) found.push(new RegExp(literal(node.text)));
    } else node.forEachChild(take);
  };
  const look = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && functions.includes(node.expression.getText()))
      node.arguments.forEach(take);
    else if (ts.isFunctionDeclaration(node) && functions.includes(node.name?.text ?? ""))
      node.forEachChild(take);
    else node.forEachChild(look);
  };
  look(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  return found;
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
