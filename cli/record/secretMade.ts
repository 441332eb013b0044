import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../runtime/base/json";
import { isSecretKind } from "../../runtime/base/kinds";
import type { JsonObject } from "../../runtime/base/objects";
import type { HandlerAnswer } from "../../runtime/cli";

/** The parts of a question that may have been made of Secrets. */
interface Observed {
  readonly object: JsonObject;
  readonly children: readonly JsonObject[];
  readonly state?: JsonObject | undefined;
}

/**
 * A question without what its children, its status and its state have been made of Secrets, such as a hash: there is what the
 * handler has made of the fakes. This is where two answers differ, to questions that differ only in their fakes.
 *
 * Caveat: if the handler answers an error, it is unknown what it would make.
 */
export function withoutMade<Question extends Observed>(
  question: Question,
  one: HandlerAnswer | undefined,
  other: HandlerAnswer | undefined,
): Question {
  const [first, second] = [one, other].map(
    (answer) => (answer ?? {}) as { children?: JsonObject[]; status?: JsonObject; state?: JsonObject },
  );
  const { object, children, state } = question;
  const home = (object["metadata"] as JsonObject)["namespace"];
  const find = (all: readonly JsonObject[] = [], child: JsonObject) =>
    all.find((each) => isDeepStrictEqual(identityOf(each, home), identityOf(child, home)));
  const status = made(object["status"], first?.status, second?.status);
  return {
    ...question,
    object: { ...object, ...(status !== undefined && { status: status as JsonObject }) },
    children: children.map((child) => {
      const found = find(first?.children, child);
      if (!found || isSecretKind(child)) return child;
      return made(child, found, find(second?.children, child) ?? {}) as JsonObject;
    }),
    ...(state && { state: made(state, first?.state, second?.state) as JsonObject }),
  };
}

function identityOf({ apiVersion, kind, metadata }: JsonObject, home: unknown): unknown[] {
  const { namespace = home, name } = (metadata ?? {}) as JsonObject;
  return [apiVersion, kind, namespace, name];
}

/** A value with what `one` has where `one` and `other` differ. What only the value has stays. */
function made(value: unknown, one: unknown, other: unknown): unknown {
  if (value === undefined || one === undefined || isDeepStrictEqual(one, other)) return value;
  if (isRecord(value) && isRecord(one) && isRecord(other)) {
    const entries = Object.entries(value).map(([key, each]) => [key, made(each, one[key], other[key])]);
    return Object.fromEntries(entries);
  }
  if (!Array.isArray(value) || !Array.isArray(one) || !Array.isArray(other)) return one;
  if (value.length !== one.length || one.length !== other.length) return one;
  return value.map((each, index) => made(each, one[index], other[index]));
}
