import type { Operator } from "../definition/definition";
import { isRecord } from "../json";
import type { ObjectName } from "../kubernetes/objects";

/** Says that an object may have changed. */
export interface Hint extends ObjectName {
  /** The version of it that the event is about, where the Sensor says so. */
  readonly resourceVersion?: string;
}

/** A body that is not a hint for this operator. Its message goes back to who sent it. */
export class HintError extends Error {
  override readonly name = "HintError";
}

/** RFC 1123: what the API server accepts as the name of a custom resource, and of which a namespace's is a part. */
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LONGEST_NAME = 253;
/** As the API server writes it: an integer of 64 bits without a sign. */
const RESOURCE_VERSION = /^[1-9][0-9]{0,19}$/;

/**
 * Reads a hint: `{"namespace":"shop","name":"sessions","resourceVersion":"7"}`. Of a kind with cluster scope, the
 * namespace is "" or missing; the version may be missing, as in a hint of an older Sensor. Other fields make no difference.
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
    throw new HintError("namespace is none of this operator's");
  }
  return { namespace, name, ...version };
}

function parseObject(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    if (isRecord(value)) return value;
  } catch {
    // Said below.
  }
  throw new HintError("the body is not a JSON object");
}

function isResourceVersion(value: unknown): value is string {
  return typeof value === "string" && RESOURCE_VERSION.test(value);
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST_NAME && DNS_SUBDOMAIN.test(value);
}
