import type { Operator } from "../definition/definition";
import { isRecord } from "../definition/shape";
import type { ObjectName } from "../kubernetes/objects";

/** A body that is not a hint for this operator. Its message goes back to who sent it. */
export class HintError extends Error {
  override readonly name = "HintError";
}

/** RFC 1123: what the API server accepts as the name of a custom resource, and of which a namespace's is a part. */
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LONGEST_NAME = 253;

/**
 * Reads a hint: `{"namespace":"shop","name":"sessions"}`. Of a kind with cluster scope, the namespace is "" or missing.
 * Other fields make no difference.
 * @throws HintError
 */
export function parseHint(
  body: string,
  { customResource, namespaces }: Pick<Operator, "customResource" | "namespaces">,
): ObjectName {
  const { namespace = "", name } = parseObject(body);
  if (!isName(name)) throw new HintError("name is not the name of an object");
  if (!customResource.namespaced) {
    if (namespace !== "") throw new HintError(`${customResource.kind} has no namespaces`);
    return { name };
  }
  if (!isName(namespace)) throw new HintError("namespace is not the name of a namespace");
  // We have no right to read there.
  if (namespaces !== "all" && !namespaces.includes(namespace)) {
    throw new HintError("namespace is none of this operator's");
  }
  return { namespace, name };
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

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST_NAME && DNS_SUBDOMAIN.test(value);
}
