import { nearest } from "../../definition/nearest";
import type { Report } from "../../definition/problems";
import { isRecord } from "../../runtime/program";

/** A DNS label (RFC 1123), of any length that one may have: the name of a namespace is one. */
export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** What a value must look like, and what to tell an author whose value does not. */
export interface Shape {
  /** How to put it right, in a sentence: appended to every complaint about the value. */
  readonly remedy: string;
  /** Whether the field may be left out. */
  readonly optional?: boolean;
  /** Reports everything that is wrong with the value that stands in `field`. */
  check(value: unknown, field: string, report: Report): void;
}

/** The same shape for a field that may be left out. */
export function optional(shape: Shape): Shape {
  return { ...shape, optional: true };
}

/** Any text, the empty one included. */
export function anyText(remedy: string): Shape {
  return {
    remedy,
    check(value, field, report) {
      if (typeof value !== "string") report(field, `must be a text, not ${describe(value)}`, remedy);
    },
  };
}

/**
 * A text that is not empty.
 * @param complain - says what is wrong with a text ("is not a DNS label"), or undefined where nothing is
 */
export function text(remedy: string, complain?: (value: string) => string | undefined): Shape {
  return {
    remedy,
    check(value, field, report) {
      if (typeof value !== "string") return report(field, `must be a text, not ${describe(value)}`, remedy);
      if (value.trim() === "") return report(field, "is empty", remedy);
      const complaint = complain?.(value);
      if (complaint !== undefined) report(field, complaint, remedy);
    },
  };
}

/** A text that matches a regular expression; `standard` names what it then is: "a DNS label". */
export function pattern(expression: RegExp, standard: string, remedy: string): Shape {
  return text(remedy, (value) => (expression.test(value) ? undefined : `is "${value}", not ${standard}`));
}

/** A whole number within a range, both ends included. */
export function integer(minimum: number, maximum: number, remedy: string): Shape {
  return {
    remedy,
    check(value, field, report) {
      if (typeof value !== "number" || !Number.isInteger(value)) {
        report(field, `must be a whole number, not ${describe(value)}`, remedy);
      } else if (value < minimum || value > maximum) {
        report(field, `is ${value}, outside of ${minimum} to ${maximum}`, remedy);
      }
    },
  };
}

/** True or false. */
export function flag(remedy: string): Shape {
  return {
    remedy,
    check(value, field, report) {
      if (typeof value !== "boolean") report(field, `must be true or false, not ${describe(value)}`, remedy);
    },
  };
}

/** One of a few words. */
export function oneOf(words: readonly string[], remedy: string): Shape {
  return text(remedy, (value) => {
    if (words.includes(value)) return undefined;
    return `is "${value}", not one of ${words.map((word) => `"${word}"`).join(", ")}`;
  });
}

/** A list whose entries all have one shape. */
export function listOf(entry: Shape, remedy: string, least: 0 | 1 = 0): Shape {
  return {
    remedy,
    check(value, field, report) {
      if (!Array.isArray(value)) return report(field, `must be a list, not ${describe(value)}`, remedy);
      if (value.length < least) return report(field, "is empty", remedy);
      for (const [index, item] of value.entries()) entry.check(item, `${field}[${index}]`, report);
    },
  };
}

/** An object with any fields. */
export function anyObject(remedy: string): Shape {
  return {
    remedy,
    check(value, field, report) {
      if (!isRecord(value)) report(field, `must be an object, not ${describe(value)}`, remedy);
    },
  };
}

/** An object whose keys are the author's own, each key and each value of one shape. */
export function mapOf(key: Shape, entry: Shape, remedy: string): Shape {
  return {
    remedy,
    check(value, field, report) {
      if (!isRecord(value)) return report(field, `must be an object, not ${describe(value)}`, remedy);
      for (const [name, item] of Object.entries(value)) {
        key.check(name, `${field}: the name`, report);
        entry.check(item, `${field}.${name}`, report);
      }
    },
  };
}

/**
 * An object of known fields. An unknown key is a problem, with the field that was likely meant.
 * @param reserved - fields that will be known one day
 */
export function fields(
  shapes: Readonly<Record<string, Shape>>,
  remedy: string,
  reserved: readonly string[] = [],
): Shape {
  return {
    remedy,
    check(value, field, report) {
      if (!isRecord(value))
        return report(field || "the document", `must be an object, not ${describe(value)}`, remedy);
      const at = (key: string) => (field === "" ? key : `${field}.${key}`);
      for (const key of Object.keys(value)) {
        if (Object.hasOwn(shapes, key)) continue;
        if (reserved.includes(key)) {
          report(at(key), "is reserved and not built yet", "Leave it out.");
          continue;
        }
        const meant = nearest(key, Object.keys(shapes));
        const advice =
          meant === undefined
            ? `Known are: ${Object.keys(shapes).join(", ")}.`
            : `Did you mean ${at(meant)}?`;
        report(at(key), "is not a known field", advice);
      }
      for (const [key, shape] of Object.entries(shapes)) {
        if (value[key] !== undefined) shape.check(value[key], at(key), report);
        else if (!shape.optional) report(at(key), "is missing", shape.remedy);
      }
    },
  };
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "string":
      return `the text "${value}"`;
    case "number":
    case "boolean":
      return String(value);
    case "object":
      return "an object";
    default:
      return `a value of type ${typeof value}`;
  }
}

/** The longest installation: with a dot and the longest name, an identity still fits into a label. */
const LONGEST_INSTALLATION = 20;

/** What tells the operators of one program from those of others in the same cluster. */
export const INSTALLATION_SHAPE = text(
  `Use at most ${LONGEST_INSTALLATION} lower-case letters, digits and "-", for example "argosy".`,
  (installation) =>
    installation.length <= LONGEST_INSTALLATION && DNS_LABEL.test(installation)
      ? undefined
      : `is "${installation}", not a DNS label of at most ${LONGEST_INSTALLATION} characters`,
);
