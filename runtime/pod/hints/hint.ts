import type { Operator } from "../../definition/definition";
import { isRecord } from "../../json/json";
import { isDnsName, type ObjectName } from "../../kubernetes/objects";

/** Says that an object may have changed. */
export interface Hint extends ObjectName {
  /** The version of the object that the event is about, if the Sensor names it. */
  readonly resourceVersion?: string;
}

/** The body is not a hint for this operator. The message goes back to the sender. */
export class HintError extends Error {
  override readonly name = "HintError";
}

/** A version as the API server writes it: an integer of 64 bits without a sign. */
const RESOURCE_VERSION = /^[1-9][0-9]{0,19}$/;

/**
 * Reads a hint: `{"namespace":"shop","name":"sessions","resourceVersion":"7"}`. For a kind of cluster scope, the
 * namespace is "" or missing. The version may be missing. Other fields are ignored.
 * @throws HintError
 */
export function parseHint(
  body: string,
  { customResource, namespaces }: Pick<Operator, "customResource" | "namespaces">,
): Hint {
  const { namespace = "", name, resourceVersion } = parseObject(body);
  const version = isResourceVersion(resourceVersion) && { resourceVersion };
  if (!isName(name)) throw new HintError("name is not the name of an object");
  if (!customResource.namespaced) {
    if (namespace !== "") throw new HintError(`${customResource.kind} has no namespaces`);
    return { name, ...version };
  }
  if (!isName(namespace)) throw new HintError("namespace is not the name of a namespace");
  // We have no right to read there.
  if (namespaces !== "all" && !namespaces.includes(namespace)) {
    throw new HintError("namespace is not one of this operator's");
  }
  return { namespace, name, ...version };
}

function parseObject(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    if (isRecord(value)) return value;
  } catch {
    // The error below says so.
  }
  throw new HintError("the body is not a JSON object");
}

function isResourceVersion(value: unknown): value is string {
  return typeof value === "string" && RESOURCE_VERSION.test(value);
}

/** A namespace's name may have some of these characters. */
function isName(value: unknown): value is string {
  return typeof value === "string" && isDnsName(value);
}
