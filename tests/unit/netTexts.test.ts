import assert from "node:assert/strict";
import { USED_BY_LABEL } from "../../runtime/base/names";
import type { JsonObject, Manifest } from "../../runtime/base/objects";
import type { HandlerQuestion } from "../../runtime/handler/contract";
import { Crash } from "../../tools/chaos/kills/inProcess";
import {
  type Act,
  type Ground,
  type Handler,
  type Scenario,
  THINGS,
} from "../../tools/chaos/kills/scenarios";
import type { NetWorld } from "./support/net/netWorld";
import { runScenario, together } from "./support/net/runScenario";
import { FORMS, ODD_VALUES } from "./support/secretForms";

const USES = {
  uses: { token: { apiVersion: "v1", kind: "Secret", plural: "secrets", name: "spec.secret" } },
};
/** What a webhook says to a child that has this key. */
const QUOTED = "quoted";
/** How long a long text is. */
const LONG = 256 * 1024;
/** So much CPU time is no matter, in milliseconds. */
const FEW_MS = 1_000;
/** How often a text is tried that seems to need too much. */
const TURNS = 3;

/** Users apply an object, whose handler does what the spec says. */
function applied(name: string, spec: JsonObject): Act {
  return ({ objects, namespace }) =>
    objects.apply({ ...THINGS, metadata: { name, namespace }, spec } as Manifest);
}

function secret(name: string, value: string): Act {
  return ({ objects, namespace, operator }: Ground) =>
    objects.apply({
      ...{ apiVersion: "v1", kind: "Secret" },
      metadata: { name, namespace, labels: { [USED_BY_LABEL]: `argosy.${operator}` } },
      data: { k: base64(value) },
    } as Manifest);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** The API server refuses children that quote something, with this text. */
function quoting(world: NetWorld): void {
  const { api } = world;
  const handle = api.handle.bind(api);
  api.handle = (call) => {
    const quoted = call.method === "PATCH" && call.body !== "" && JSON.parse(call.body).data?.[QUOTED];
    if (!quoted || !call.url.pathname.includes("/configmaps/")) return handle(call);
    const message = `ConfigMap is invalid: data: Invalid value: ${quoted}`;
    return { code: 422, body: { kind: "Status", status: "Failure", code: 422, reason: "Invalid", message } };
  };
}

/** Everything that a world has said about an object: conditions, Events, logs, records. */
function toldOf({ api, notices, reports }: NetWorld, name: string): string {
  const shown = api.log.map(({ kind, after }): unknown => {
    if (kind.kind === "Event") return JSON.stringify(after).includes(`"${name}"`) && after;
    const isIt = kind.kind === "Thing" && after?.metadata.name === name;
    return isIt && (after["status"] as JsonObject | undefined)?.["conditions"];
  });
  const records = reports.filter((report) => report.name === name);
  const all = [shown, records, records.map(({ failure }) => failure?.message), notices];
  return [...new Set(textsIn(all))].join("\n");
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe("no report has the value of a Secret", () => {
  /** How a handler comes by a value. */
  const SOURCES = ["used", "environment", "answered", "child"] as const;
  /** Where it tells the value. */
  const EXITS: Readonly<Record<string, (text: string) => JsonObject | Crash>> = {
    "an error": (message) => ({ error: { message } }),
    "a condition": (message) => ({
      children: [],
      conditions: [{ type: "Warm", status: "True", reason: "Sun", message }],
    }),
    "an event": (note) => ({ children: [], events: [{ type: "Normal", reason: "Seen", note }] }),
    "a crash": (words) => new Crash(words),
    "a child that is refused": (text) => ({
      children: [
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "refused" }, data: { [QUOTED]: text } },
      ],
    }),
    "an answer that is wrong": (text) => ({
      children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: text } }],
    }),
  };
  const ALL_FORMS = Object.entries(FORMS);
  ALL_FORMS.push(["each line for itself", (text) => text.split("\n").map(base64).join(" and ")]);

  /** What a text has of a value in this form: the whole value, or a line of it. */
  function leftOf(told: string, value: string, write: (text: string) => string): string[] {
    const lines = value.split("\n").filter((line) => line.length >= 16);
    return [value, ...lines].map(write).filter((text) => told.includes(text));
  }

  for (const [nth, source] of SOURCES.entries()) {
    for (const [mth, exit] of Object.keys(EXITS).entries()) {
      // Nothing is answered.
      if (source === "answered" && ["an error", "a crash"].includes(exit)) continue;
      it(`that was ${source}, whatever its form, and that is told in ${exit}`, async () => {
        const some = ALL_FORMS.filter((_, index) => index % 3 === (nth + mth) % 3);
        const cases = some.map(([form, write], index) => {
          const value = ODD_VALUES[(index + nth * 5 + mth * 7) % ODD_VALUES.length] ?? "";
          const text = index % 2 === nth % 2 ? `it is ${write(value)}` : `it is ${write(value)}, as we know`;
          return { name: `t${index}`, form, write, value, text };
        });
        const handler: Handler = ({ object, children }: HandlerQuestion) => {
          const { metadata } = object;
          const { text = "", value = "" } = cases.find(({ name }) => name === metadata.name) ?? {};
          const answer = EXITS[exit]?.(text) ?? {};
          const own = {
            ...{ apiVersion: "v1", kind: "Secret", metadata: { name: `of-${metadata.name}` } },
            stringData: { k: value },
          };
          if (source !== "answered" && source !== "child") return answer;
          if (source === "child" && children.length === 0) return { children: [own] };
          if (!("children" in answer)) return answer;
          return { ...answer, children: [...(answer["children"] as JsonObject[]), own] };
        };
        const scenario: Scenario = {
          name: "texts",
          operator: () => USES,
          acts: [
            together(
              ...(source === "used" ? cases.map(({ name, value }) => secret(`s-${name}`, value)) : []),
              ...cases.map(({ name }) => applied(name, source === "used" ? { secret: `s-${name}` } : {})),
            ),
            together(
              ...cases.map(({ name }) =>
                applied(name, { again: true, ...(source === "used" && { secret: `s-${name}` }) }),
              ),
            ),
          ],
        };
        const { world } = await runScenario(scenario, {
          handler,
          begin: (place) => {
            quoting(place);
            if (source === "environment") place.hidden = cases.map(({ value }) => base64(value));
          },
        });
        const all = cases.map(({ name, form, write, value }) => {
          const told = toldOf(world, name);
          // A name that is too long is cut.
          const isTold = /\*\*\*|…/.test(told);
          const left = isTold ? leftOf(told, value, write) : ["it was not told"];
          return left.map((each) => `${form} of ${value}: ${each}\n${told}`);
        });
        assert.equal(all.flat().join("\n"), "");
      });
    }
  }
});

describe("no text of others gets into a command that a report tells its readers to run", () => {
  const HOSTILE = "x; touch owned $(id) `id`";
  const map = (metadata: JsonObject, more: JsonObject = {}) => ({
    children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", ...metadata }, ...more }],
  });
  /** What the author of an object may decide: its spec, and what the handler makes of it. */
  const SPECS: Readonly<Record<string, JsonObject>> = {
    "a kind": { answer: map({}, { kind: HOSTILE }) },
    "a group": { answer: map({}, { apiVersion: `${HOSTILE}/v1` }) },
    "a name": { answer: map({ name: HOSTILE }) },
    "a namespace": { answer: map({ namespace: HOSTILE }) },
    "a label": { answer: map({ labels: { [HOSTILE]: HOSTILE } }) },
    "an annotation": { answer: map({ annotations: { "argosy.dev/after": HOSTILE } }) },
    "an owner": { answer: map({ ownerReferences: [{ ...THINGS, name: HOSTILE, uid: HOSTILE }] }) },
    "a text": { answer: map({}, { data: { [QUOTED]: HOSTILE } }) },
    "an error": { answer: { error: { message: HOSTILE } } },
    "a condition": { answer: { children: [], conditions: [{ type: HOSTILE, status: HOSTILE }] } },
    "an event": { answer: { children: [], events: [{ type: "Normal", reason: HOSTILE, note: HOSTILE }] } },
    "a field": { answer: { children: [], [HOSTILE]: HOSTILE } },
    "a used Secret": { secret: HOSTILE },
  };

  it(`whatever it is: ${Object.keys(SPECS).join(", ")}`, async () => {
    const acts = Object.values(SPECS).map((spec, index) => applied(`t${index}`, spec));
    const scenario: Scenario = { name: "commands", operator: () => USES, acts: [together(...acts)] };
    const { world } = await runScenario(scenario, { begin: quoting });
    for (const [index, what] of Object.keys(SPECS).entries()) {
      const told = toldOf(world, `t${index}`);
      assert.notEqual(told, "", what);
      assert.doesNotMatch(told, /\b(kubectl|argosy) [^.\n]*(touch|owned|\bid\b)/, what);
    }
  });
});

describe("no long text holds the engine up", () => {
  /** What patterns look for, and what they skip. */
  const PIECES = [
    ...[
      " ",
      "\n",
      "a",
      "(",
      "a(",
      "[",
      "/",
      ".",
      "\\",
      '"',
      "%41",
      "\\u0041",
      "&amp;",
      "&#65;",
      "41",
      "41 ",
      "41, ",
      "aGVs",
      "x=",
      ": ",
    ],
    ...[
      "failed rule: ",
      "admission webhook ",
      "cannot get resource ",
      "failed calling webhook ",
      "at x (y:1:1)\n",
    ],
  ];

  /** How much CPU time the engine needs for a text of that length, in milliseconds. */
  async function cpuMs(piece: string, length: number): Promise<number> {
    const long = `x${piece.repeat(Math.ceil(length / piece.length))}x`;
    const answers: Readonly<Record<string, JsonObject | Crash>> = {
      error: { error: { message: long } },
      crash: new Crash(`${long}\n`),
      refused: {
        children: [
          { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "r" }, data: { [QUOTED]: long } },
        ],
      },
      used: { children: [], events: [{ type: "Normal", reason: "Seen", note: long }] },
    };
    const acts = Object.keys(answers).map((name) => applied(name, name === "used" ? { secret: "long" } : {}));
    const scenario: Scenario = {
      name: "long",
      operator: () => USES,
      acts: [together(secret("long", long), ...acts)],
    };
    const before = process.cpuUsage();
    await runScenario(scenario, {
      handler: ({ object }) => answers[object.metadata.name] ?? {},
      begin: quoting,
    });
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  }

  for (const piece of PIECES) {
    it(`of ${JSON.stringify(piece)}, again and again`, async () => {
      // However slow the machine is, twice the text may need twice the time. What others do on it costs time of ours too, but not always.
      const costs: number[] = [];
      while (costs.length < TURNS) {
        const whole = await cpuMs(piece, LONG);
        if (whole <= FEW_MS || whole < 3 * (await cpuMs(piece, LONG / 2))) return;
        costs.push(whole);
      }
      assert.fail(`${costs.join(", ")} ms of CPU time`);
    });
  }
});
