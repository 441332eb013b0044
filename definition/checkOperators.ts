import { isRecord } from "../runtime/base/json";
import { formerIdentitiesOf, identityOf, type OperatorIdentity } from "../runtime/base/names";
import type { Json } from "../runtime/base/objects";
import type { Operator } from "../runtime/operator/definition";
import { clashOf, listenerOf } from "./checkOutsideEvents";
import { definitionFile, reportOn } from "./definitionFile";
import { displayPath, Problems, type Report } from "./problems";

/**
 * Checks the operators against each other: no name, including former names, may be given twice, and no two operators may own the
 * same kind.
 *
 * @throws OperatorError that names every clash
 */
export function checkOperators(operators: readonly Operator[]): void {
  const problems = new Problems();
  checkListeners(operators, problems);
  for (const [index, operator] of operators.entries()) {
    const report = reportOn(operator, problems);
    for (const other of operators.slice(0, index)) {
      const where = displayPath(definitionFile(other.folder));
      if (operator.name === other.name) {
        report(
          "name",
          `"${operator.name}" is also the name of ${where}`,
          "Give each operator a name of its own.",
        );
      }
      checkTaken(operator, other, report);
      checkTaken(other, operator, reportOn(other, problems));
      checkSharedFormerNames(operator, other, report);
      checkWatched(operator, other, report);
      checkWatched(other, operator, reportOn(other, problems));
      // Several operators may watch one kind.
      if (operator.watch || other.watch) continue;
      if (operator.customResource.group !== other.customResource.group) continue;
      const { group, plural } = operator.customResource;
      if (plural === other.customResource.plural) {
        report("crd", `defines ${plural}.${group}, as does ${where}`, "Let one operator own it.");
        continue;
      }
      for (const name of sharedNames(operator, other)) {
        report("crd", `uses the name "${name}" in ${group}, as does ${where}`, "Rename one of them.");
      }
    }
  }
  if (problems.found) throw problems.toError();
}

/** All sources that listen are in one pod: see `clashOf`. */
function checkListeners(operators: readonly Operator[], problems: Problems): void {
  const listeners = operators.flatMap((operator) =>
    (operator.on ?? []).flatMap((event) => {
      const listener = listenerOf(event);
      return listener ? [{ operator, listener }] : [];
    }),
  );
  for (const [index, { operator, listener }] of listeners.entries()) {
    for (const other of listeners.slice(0, index + 1)) {
      const clash = clashOf(listener, other.listener);
      if (!clash) continue;
      const [field, complaint] = clash;
      const where = displayPath(definitionFile(other.operator.folder));
      const remedy = `Give it another one: all sources of a program share their pods. The other one is ${other.listener.field} of ${where}.`;
      reportOn(operator, problems)(`${listener.field}.${field}`, complaint, remedy);
      break;
    }
  }
}

/**
 * An operator may not watch the kind of another operator of the program, because every write of that operator on its objects
 * would count as a change.
 */
function checkWatched({ watch, customResource }: Operator, other: Operator, report: Report): void {
  const { group, kind } = other.customResource;
  if (!watch || other.watch || customResource.group !== group || customResource.kind !== kind) return;
  const where = displayPath(definitionFile(other.folder));
  const complaint = `is ${kind}, which ${where} owns, and which that operator changes whenever it works`;
  report("watch.kind", complaint, "Let that operator do the work, or watch a kind of its children.");
}

/** An operator takes over the objects of its former names, so no other operator may still have such a name. */
function checkTaken(operator: Operator, other: Operator, report: Report): void {
  const index = formerIdentitiesOf(operator).map(identityOf).indexOf(identityOf(other));
  if (index < 0) return;
  const where = displayPath(definitionFile(other.folder));
  const complaint = `is "${operator.formerNames[index]}", which is the name of ${where}`;
  report(`formerNames[${index}]`, complaint, "Rename that operator, or leave this name out.");
}

/** Only one operator can take over the objects of a former name. */
function checkSharedFormerNames(operator: Operator, other: Operator, report: Report): void {
  const others = formerIdentitiesOf(other).map(identityOf);
  for (const [index, former] of formerIdentitiesOf(operator).map(identityOf).entries()) {
    if (!others.includes(former)) continue;
    const where = displayPath(definitionFile(other.folder));
    const complaint = `is "${operator.formerNames[index]}", which ${where} also gives`;
    report(`formerNames[${index}]`, complaint, "Keep it in one of the two.");
  }
}

/**
 * Names that the API server would accept for only one of the two CRDs: within a group, plural, singular and short names must
 * differ, and so must kinds and list kinds (the condition NamesAccepted).
 */
function sharedNames(one: Operator, other: Operator): string[] {
  const ofOther = namesOf(other);
  const ofOne = namesOf(one);
  return [
    ...ofOne.resources.filter((name) => ofOther.resources.includes(name)),
    ...ofOne.kinds.filter((name) => ofOther.kinds.includes(name)),
  ];
}

function namesOf({ crd, customResource: { kind, plural } }: Operator): {
  resources: string[];
  kinds: string[];
} {
  const spec: Json | undefined = crd.spec;
  const names = isRecord(spec) && isRecord(spec.names) ? spec.names : {};
  const word = (value: unknown, otherwise: string) => (typeof value === "string" ? value : otherwise);
  const shortNames = Array.isArray(names.shortNames) ? names.shortNames.map(String) : [];
  return {
    resources: [...new Set([plural, word(names.singular, kind.toLowerCase()), ...shortNames])],
    kinds: [...new Set([kind, word(names.listKind, `${kind}List`)])],
  };
}

/** Checks the former names of an operator against each other and against its present name. */
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
