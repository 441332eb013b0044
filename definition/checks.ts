// Zod's errors in our words: complaints, remedies, "did you mean".
import { z } from "zod";
import { isRecord } from "../runtime/base/json";
import type { Json, JsonObject } from "../runtime/base/objects";
import { didYouMean } from "./nearest";
import type { Report } from "./problems";

/**
 * The building blocks of our zod schemas. Each gives its complaints in our words, with a remedy, and {@link check} passes both
 * on. The form of a value is only in the schema, from which types and JSON Schema follow as well.
 */

/** The complaint and the remedy of one problem, as the message of a zod issue. Neither has a line break of its own. */
function messageOf(complaint: string, remedy: string): string {
  return `${complaint}\n${remedy}`;
}

interface RawIssue {
  readonly code?: string | undefined;
  readonly input?: unknown;
  readonly expected?: unknown;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  int: "a whole number",
  number: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** Messages for a value that does not have the type of the schema. `expected` names that type. */
function told(remedy: string, expected?: string) {
  return {
    error: (issue: RawIssue) => messageOf(typeComplaint(issue, expected), remedy),
  };
}

function typeComplaint({ input, expected }: RawIssue, words = EXPECTED[String(expected)]): string {
  if (input === undefined) return "is missing";
  if (input === null) return "has no value";
  const isScalar = typeof input === "number" || typeof input === "boolean";
  const quoting = words === "a string" && isScalar ? ": write it in quotes" : "";
  return `must be ${words}, not ${describe(input)}${quoting}`;
}

/** Messages for a value of the right type. */
function saying(remedy: string, complain: (value: string) => string) {
  return {
    error: ({ input }: RawIssue) =>
      messageOf(String(input).trim() === "" ? "is empty" : complain(String(input)), remedy),
  };
}

/** Any text, the empty one included. */
export function anyText(remedy: string) {
  return z.string(told(remedy));
}

/**
 * A text, which by default is not empty.
 * @param complain says what is wrong with a text ("is not a DNS label"), or undefined if nothing is
 */
export function text(
  remedy: string,
  complain: (value: string) => string | undefined = () => undefined,
  least: 0 | 1 = 1,
) {
  return z
    .string(told(remedy))
    .regex(least === 0 ? /^/ : /\S/, { ...saying(remedy, () => "is empty"), abort: true })
    .refine(
      (value) => complain(value) === undefined,
      saying(remedy, (value) => complain(value) ?? ""),
    );
}

/** A text that matches a regular expression. `standard` names such a text: "a DNS label". */
export function pattern(expression: RegExp, standard: string, remedy: string) {
  return z.string(told(remedy)).regex(
    expression,
    saying(remedy, (value) => `is ${quoted(value)}, not ${standard}`),
  );
}

/** A whole number within a range, both ends included. */
export function integer(least: number, most: number, remedy: string) {
  const complaints = {
    error: (issue: RawIssue) => {
      const complaint = Number.isInteger(issue.input)
        ? `is ${issue.input}, outside of ${least} to ${most}`
        : typeComplaint(issue, "a whole number");
      return messageOf(complaint, remedy);
    },
  };
  return z.int(complaints).min(least, complaints).max(most, complaints);
}

/** True or false. */
export function flag(remedy: string) {
  return z.boolean(told(remedy));
}

/** One of a few words. */
export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words, remedy: string) {
  const known = words.map(quoted).join(", ");
  return z.enum(words, {
    error: ({ input }: RawIssue) =>
      typeof input === "string"
        ? messageOf(`is ${quoted(input)}, not one of ${known}`, remedy)
        : messageOf(typeComplaint({ input }, "a string"), remedy),
  });
}

/** One word; `otherwise` completes the complaint about any other: "is 3, neither all nor a list". */
export function word<const Word extends string>(known: Word, otherwise: string, remedy: string) {
  return z.literal(known, {
    error: ({ input }) => {
      const found = typeof input === "string" ? quoted(input) : describe(input);
      return messageOf(`is ${found}, ${otherwise}`, remedy);
    },
  });
}

/** A list whose entries all have one shape. */
export function listOf<Entry extends z.ZodType>(entry: Entry, remedy: string) {
  return z.array(entry, told(remedy));
}

/** A list with at least one entry. */
export function filledListOf<Entry extends z.ZodType>(entry: Entry, remedy: string) {
  return listOf(entry, remedy).min(1, { error: () => messageOf("is empty", remedy) });
}

/** An object with keys that the author chooses. All keys have one shape, and so have all values. */
export function mapOf<Entry extends z.ZodType>(key: z.ZodType<string, string>, entry: Entry, remedy: string) {
  return z.record(key, entry, told(remedy));
}

/** Any value, as JSON has it. */
export function anyValue() {
  return z.custom<Json>(() => true);
}

/** An object with any fields, as JSON has it. */
export function anyObject(remedy: string) {
  return z.custom<JsonObject>(isRecord, {
    error: (issue) => messageOf(typeComplaint(issue, "an object"), remedy),
  });
}

/**
 * An object of known fields. Any other field is refused, with the name of the field that was probably meant.
 * @param refused complaint and remedy for unknown fields that authors are likely to write
 */
export function fields<Shape extends z.core.$ZodShape>(
  shape: Shape,
  remedy: string,
  refused: Readonly<Record<string, readonly [complaint: string, remedy: string]>> = {},
) {
  const known = Object.keys(shape);
  const refuse = (key: string): string => {
    const expected = Object.hasOwn(refused, key) ? refused[key] : undefined;
    if (expected) return messageOf(...expected);
    return messageOf("is not a known field", didYouMean(key, known, `Known are: ${known.join(", ")}.`));
  };
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? (issue.keys as string[]).map(refuse).join("\n")
        : messageOf(typeComplaint(issue), remedy),
  });
}

/**
 * One of several shapes. The complaint is about the shape that is most like the value.
 * @param expected all shapes together: "a text or an object"
 */
export function either<const Options extends readonly [z.ZodType, ...z.ZodType[]]>(
  options: Options,
  expected: string,
  remedy: string,
) {
  return z.union(options, told(remedy, expected));
}

/** Adds the complaints of a check of several fields to a zod issue's context. */
export function complainIn(context: {
  addIssue(issue: { code: "custom"; path: PropertyKey[]; message: string; params: object }): void;
}): (path: PropertyKey[], complaint: string, remedy: string, because?: readonly string[]) => void {
  return (path, complaint, remedy, because = []) =>
    context.addIssue({ code: "custom", path, message: messageOf(complaint, remedy), params: { because } });
}

/**
 * Checks a value, and reports everything that is wrong with it.
 * @returns what the schema makes of the value. Undefined if anything was reported
 */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  report: Report,
  field = "",
): z.output<Schema> | undefined {
  const hidden = hiddenKey(value);
  if (hidden !== undefined) {
    report(fieldAt(field, hidden), "cannot be the name of a field", "Give it another one.");
    return undefined;
  }
  const { success, data, error } = schema.safeParse(value, { reportInput: true });
  if (success) return data;
  for (const issue of error.issues) tell(issue, field, report);
  return undefined;
}

function tell(issue: z.core.$ZodIssue, field: string, report: Report): void {
  const at = fieldAt(field, issue.path);
  const messages = issue.message.split("\n");
  const say = (place: string, index: number) =>
    report(place, messages[index] ?? "", messages[index + 1] ?? "", becauseOf(issue));
  if (issue.code === "unrecognized_keys") {
    for (const [index, key] of issue.keys.entries()) say(fieldAt(at, [key]), 2 * index);
  } else if (issue.code === "invalid_union" && branchOf(issue.errors)) {
    for (const inner of branchOf(issue.errors) ?? []) tell(inner, at, report);
  } else if (issue.code === "invalid_key") {
    for (const inner of issue.issues) tell(inner, at, report);
  } else {
    say(at, 0);
  }
}

function becauseOf(issue: z.core.$ZodIssue): readonly string[] {
  return issue.code === "custom" ? ((issue.params?.because as readonly string[]) ?? []) : [];
}

/** The complaints about the shape that has the value's type. Undefined if no shape has it, or several have it. */
function branchOf(branches: z.core.$ZodIssue[][]): z.core.$ZodIssue[] | undefined {
  const isOfOtherType = ({ code, path, input }: z.core.$ZodIssue) =>
    path.length === 0 && (code === "invalid_type" || (code === "invalid_value" && typeof input !== "string"));
  const fitting = branches.filter((issues) => !issues.some(isOfOtherType));
  return fitting.length === 1 ? fitting[0] : undefined;
}

/** "children" and [0, "kind"] make "children[0].kind". */
function fieldAt(field: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, key) => {
    if (typeof key === "number") return `${name}[${key}]`;
    return name === "" ? String(key) : `${name}.${String(key)}`;
  }, field);
}

/** No schema of ours has more levels. */
const MOST_LEVELS = 6;

/** The path to a key named __proto__, which zod silently ignores. */
function hiddenKey(value: unknown, levels = MOST_LEVELS): PropertyKey[] | undefined {
  if (typeof value !== "object" || value === null || levels === 0) return undefined;
  if (Object.hasOwn(value, "__proto__")) return ["__proto__"];
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [key, inner] of entries) {
    const path = hiddenKey(inner, levels - 1);
    if (path) return [key, ...path];
  }
  return undefined;
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "string":
      return `the string ${quoted(value)}`;
    case "number":
      return `the number ${value}`;
    case "boolean":
      return String(value);
    case "object":
      return isOutput(value) ? "an output of Pulumi, which is not known yet" : "an object";
    default:
      return `a value of type ${typeof value}`;
  }
}

function isOutput(value: object | null): boolean {
  return (value as { __pulumiOutput?: unknown } | null)?.__pulumiOutput === true;
}

/** The longest text in a complaint. */
const LONGEST_QUOTATION = 100;

/** A text in quotes, on one line whatever is in it. */
export function quoted(value: string): string {
  const isLong = value.length > LONGEST_QUOTATION;
  return JSON.stringify(isLong ? `${value.slice(0, LONGEST_QUOTATION)}…` : value);
}
