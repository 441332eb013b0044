import { writeJson } from "../../runtime/base/json";
import { formatReference, type ObjectReference } from "../common/objectReference";
import { indent, lastLines, numbered, type Style, safe } from "../common/terminal";
import type { FieldChange } from "./changedFields";
import type { ChildFate, ChildPreview, ObjectPreview } from "./preview";

/** How each fate is shown. */
const SIGNS: Readonly<
  Record<ChildFate, readonly [sign: string, colour: "green" | "yellow" | "red" | "dim"]>
> = {
  created: ["+", "green"],
  adopted: ["⇐", "yellow"],
  changed: ["~", "yellow"],
  recreated: ["±", "red"],
  deleted: ["-", "red"],
  waits: ["…", "dim"],
};

const NOT_ASKED = {
  paused: "It is paused: its operator does nothing for it.",
  deleting: "It is being deleted.",
  expired: "The time of its event has passed: its operator deletes it.",
} as const;

/** The most fields of a child that are named without --details. */
const MOST_FIELDS = 3;
const LONGEST_VALUE = 200;
const MOST_WORDS = 12;

/** What would change for an object, for people: a line for each child, and with `details` one for each field. */
export function formatPreview(preview: ObjectPreview, style: Style, details = false): string {
  const { object, result, children, failure } = preview;
  const title = style("bold", formatReference(object));
  if (result === "paused" || result === "deleting" || result === "expired")
    return `${title}: ${style("dim", NOT_ASKED[result])}`;
  const rows = children.map((child) => ({ child, name: nameIn(child.object, object.namespace) }));
  const width = Math.max(0, ...rows.map((row) => row.name.length));
  const lines = rows.flatMap(({ child, name: each }) => {
    const [sign, colour] = SIGNS[child.fate];
    const summary = summaryOf(child);
    const line = `  ${style(colour, sign)} ${summary === "" ? each : `${each.padEnd(width)}  ${safe(summary)}`}`;
    return details ? [line, ...child.fields.map((field) => `      ${formatField(field)}`)] : [line];
  });
  if (failure) {
    const { log = "" } = failure;
    const words = log.trim() === "" ? [] : [indent(safe(lastLines(log, MOST_WORDS)), "    ")];
    lines.push(
      `  ${style("red", "✘")} ${failure.reason}: ${safe(failure.message).replaceAll("\n", " ")}`,
      ...words,
    );
  } else if (lines.length === 0) return `${title}: ${style("dim", "nothing would change")}`;
  return [title, ...lines].join("\n");
}

/** All objects in one line. */
export function formatTotal(previews: readonly Pick<ObjectPreview, "result">[]): string {
  const count = (result: ObjectPreview["result"]) => previews.filter((each) => each.result === result).length;
  const parts = [
    `${count("changed")} would change`,
    `${count("unchanged")} would not`,
    ...(["paused", "deleting", "expired", "failed"] as const)
      .filter((result) => count(result) > 0)
      .map((result) => `${count(result)} ${result === "deleting" ? "being deleted" : result}`),
  ];
  const objects = numbered(previews.length, "object", "objects");
  return `${objects}: ${parts.join(", ")}`;
}

/** The child's name. The namespace is named only if it is not that of the object. */
function nameIn({ namespace, ...child }: ObjectReference, home: string | undefined): string {
  return formatReference(namespace === home ? child : { ...child, namespace });
}

function summaryOf({ fate, fields, after = [] }: ChildPreview): string {
  if (fate === "waits") return `waits for ${after.map(({ kind, name }) => `${kind} ${name}`).join(", ")}`;
  if (fate === "created" || fate === "deleted" || fields.length === 0) return "";
  const named = fields.slice(0, MOST_FIELDS).map(({ path }) => path);
  const more = fields.length - named.length;
  const words = `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return fate === "changed" ? words : `${fate}: ${words}`;
}

/** ".spec.replicas: 2 → 3", ".spec.paused: removed, was true". */
export function formatField({ path, live, wanted }: FieldChange): string {
  if (live === undefined) return safe(`${path}: ${inShort(wanted)}`);
  if (wanted === undefined) return safe(`${path}: gone, was ${inShort(live)}`);
  return safe(`${path}: ${inShort(live)} → ${inShort(wanted)}`);
}

function inShort(value: unknown): string {
  const text = writeJson(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
