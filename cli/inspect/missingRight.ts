import { asTyped } from "../common/asTyped";

/** What the API server says to an account without a right (kubernetes, apiserver/pkg/endpoints/handlers/responsewriters/errors.go). */
const FORBIDDEN = /cannot ([a-z]+) resource \\*"([^"\\]+)\\*" in API group \\*"([^"\\]*)\\*"/;

/**
 * What to do if the message of a handler's error is about the rights of its own account. The message may be JSON within a text.
 * Undefined if it is not.
 *
 * @param operator the operator's name
 */
export function missingRightIn(message: string, operator: string): string | undefined {
  const [, verb, resource, group] = FORBIDDEN.exec(message) ?? [];
  if (verb !== undefined && resource !== undefined) {
    const [, kind = resource, inner = ""] = /^([^/]*)(\/.*)?$/.exec(resource) ?? [];
    const word = `${kind}${group ? `.${group}` : ""}${inner}`;
    const added = asTyped(
      `add rule ${operator} ${verb} ${/^[a-z0-9./-]+$/.test(word) ? word : "RESOURCE.GROUP"}`,
    );
    return `Give the handler this right, and deploy the operator again: ${added}`;
  }
  if (message.includes("ARGOSY_SERVICE_ACCOUNT"))
    return `Give the handler a right: without rules in operator.yaml it has no account, and the variable ARGOSY_SERVICE_ACCOUNT is not set. For example: ${asTyped(`add rule ${operator} get pods`)}`;
  if (/\b403\b.*\bforbidden\b/i.test(message))
    return `If the API server refused the request, give the handler the missing right: ${asTyped(`add rule ${operator} VERBS RESOURCE.GROUP`)}. The text of its answer names this right: let the handler report it.`;
  return undefined;
}
