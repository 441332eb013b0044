import fc from "fast-check";
import { buildCustomResourceDefinition } from "../../../components/manifests/customResourceDefinition";
import { statusSchemaOf, versionsOf } from "../../../definition/customResourceDefinition";
import { ReconcileFailure } from "../../../runtime/base/failure";
import { PAUSED_ANNOTATION } from "../../../runtime/base/names";
import type { JsonObject, KubernetesObject, Statement } from "../../../runtime/base/objects";
import { storedForm } from "../../../runtime/base/storedForm";
import type { Operator } from "../../../runtime/operator/definition";
import { composeStatus, type StatusVerdict, type Verdict } from "../../../runtime/remember/composeStatus";
import { widgetCrd, widgetVersion } from "../operatorFolder";
import { MANAGER, widget } from "./objects";
import { STATUS_SHAPES } from "./statusShapes";

/** What the engine says of an object, with what people read in it. */
const VERDICTS = {
  ready: { kind: "ready" },
  progressing: { kind: "progressing", message: "Deployment web has 0 of 1 replicas ready" },
  finalizing: { kind: "finalizing" },
  retried: { kind: "failed", failure: new ReconcileFailure("HandlerError", "no such size") },
  stalled: {
    kind: "failed",
    failure: new ReconcileFailure("ChildConflict", "the name is taken", { permanent: true }),
  },
  awaiting: { kind: "awaiting", run: "widget-2", message: "Insufficient memory" },
  stopped: { kind: "stopped", message: "Workflow widget-2 was stopped" },
} as const satisfies Readonly<Record<string, Verdict>>;
type Told = keyof typeof VERDICTS;

/** What becomes of an object: people change, pause or delete it, or the engine says something of its generation or of the one before. */
export type Step = "change" | "pause" | "resume" | "delete" | `${Told}` | `late ${Told}`;

/** An object, and what it is in truth. */
export interface ToldObject {
  readonly object: KubernetesObject;
  readonly isPaused: boolean;
  readonly isGoing: boolean;
  /** The last result about the object's own generation. Undefined: it has none. */
  readonly result: Exclude<Told, "awaiting" | "stopped"> | undefined;
  /** What was said of a run since. */
  readonly run: "awaiting" | "stopped" | undefined;
}

const OWN: readonly Statement[] = [
  { type: "Failed", status: "True", reason: "Mine", message: "the handler's own" },
  { type: "Progressing", status: "True", reason: "Mine", message: "the handler's own" },
];

/** The object after some steps, with the status that its CRD has room for. */
export function told(steps: readonly Step[], shape: JsonObject | undefined): ToldObject {
  const statusSchema = installedSchema(shape);
  const own = { statements: OWN, generation: 1 };
  let object = widget({ generation: 1 }, { status: storedForm({}, statusSchema) });
  let state: Omit<ToldObject, "object"> = {
    isPaused: false,
    isGoing: false,
    result: undefined,
    run: undefined,
  };
  let toldGeneration = 0;
  for (const step of steps) {
    const { metadata } = object;
    const { generation = 1 } = metadata;
    if (step === "change" || step === "delete") {
      if (step === "delete" && state.isGoing) continue;
      const deletion = step === "delete" ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
      object = { ...object, metadata: { ...metadata, ...deletion, generation: generation + 1 } };
      state = { ...state, isGoing: state.isGoing || step === "delete", result: undefined };
    } else if (step === "pause" || step === "resume") {
      const value = step === "pause" ? "" : "false";
      object = { ...object, metadata: { ...metadata, annotations: { [PAUSED_ANNOTATION]: value } } };
      state = { ...state, isPaused: step === "pause" };
    } else {
      const of = step.replace("late ", "") as Told;
      const about = generation - (step.startsWith("late ") ? 1 : 0);
      if (about < Math.max(1, toldGeneration)) continue;
      const verdict: StatusVerdict = { verdict: VERDICTS[of], generation: about };
      const change = { conditions: own, verdict };
      const composing = { fieldManager: MANAGER, now: new Date("2026-01-01T00:00:00Z") };
      const written = composeStatus(object, change, undefined, {
        ...composing,
        ...(shape && { schema: shape }),
      });
      object = { ...object, status: { ...(object["status"] as JsonObject), ...written } };
      if (of === "awaiting" || of === "stopped") {
        state = { ...state, run: of };
      } else {
        toldGeneration = about;
        state = { ...state, run: undefined, result: about === generation ? of : undefined };
      }
    }
  }
  return { object, ...state };
}

const installed = new Map<JsonObject | undefined, JsonObject>();

/** The schema of the status as it is installed. */
function installedSchema(shape: JsonObject | undefined): JsonObject {
  const known = installed.get(shape) ?? buildSchema(shape);
  installed.set(shape, known);
  return known;
}

function buildSchema(shape: JsonObject | undefined): JsonObject {
  const version = widgetVersion({}, shape && { status: shape });
  const customResource = { group: "shop.example.com", version: "v1", kind: "Widget", plural: "widgets" };
  const operator = { crd: widgetCrd({ versions: [version] }), customResource } as unknown as Operator;
  const [built] = versionsOf(buildCustomResourceDefinition(operator) as JsonObject);
  return statusSchemaOf(built ?? {}) ?? {};
}

const words = Object.keys(VERDICTS) as Told[];
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom<Step>("change", "pause", "resume", "delete"),
  { arbitrary: fc.constantFrom(...words), weight: 3 },
  fc.constantFrom(...words).map((each): Step => `late ${each}`),
);

/** Objects in every state that the engine and people can bring them to, each with its steps, for each shape of a status. */
export function manyTold(): readonly (ToldObject & {
  readonly steps: readonly Step[];
  readonly shape: string;
})[] {
  const singles = words.flatMap((each): Step[][] => [
    [each],
    ["ready", each],
    ["stalled", each],
    [each, "change"],
  ]);
  const histories = fc.sample(fc.array(step, { maxLength: 6 }), { numRuns: 40, seed: 1 });
  return Object.entries(STATUS_SHAPES).flatMap(([shape, schema]) =>
    [[], ...singles, ...histories].map((steps) => ({ ...told(steps, schema), steps, shape })),
  );
}
