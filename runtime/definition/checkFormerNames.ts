import { formerIdentitiesOf, identityOf, type OperatorIdentity } from "../names";
import type { Report } from "./operatorError";

/** Checks what the names that an operator had say beside one another and beside the one that it has. */
export function checkFormerNames(
  formerNames: readonly string[],
  operator: OperatorIdentity,
  report: Report,
): void {
  const seen = new Map<string, number>();
  for (const [index, identity] of formerIdentitiesOf({ ...operator, formerNames })
    .map(identityOf)
    .entries()) {
    const field = `formerNames[${index}]`;
    if (identity === identityOf(operator)) {
      report(field, `is "${formerNames[index]}", the operator's own name`, "Leave it out.");
    }
    const first = seen.get(identity);
    if (first !== undefined) {
      report(field, `is "${formerNames[index]}", as is formerNames[${first}]`, "Keep one of the two.");
    }
    seen.set(identity, first ?? index);
  }
}
