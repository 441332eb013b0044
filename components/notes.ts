import { listenerOf } from "../definition/checkOutsideEvents";
import { type Operator, selectionsOf } from "../runtime/program";
import type { GuardOptions } from "./manifests/operator/guards";
import { type OperatorOutsideEvent, outsideEventsOf } from "./manifests/outside/options";
import type { Platform } from "./manifests/platform/options";
import { versionDifference } from "./platform";

/** A note that the user of a program should read, and that is no error. */
export interface Note {
  readonly severity: "info" | "warn";
  /** Whole sentences. */
  readonly text: string;
}

/** The notes of a preview about operators: the rights that they get, and which objects events make. */
export function notesOn(
  operators: readonly Operator[],
  platform: Platform,
  guards: GuardOptions = {},
): Note[] {
  return [
    ...warnings(versionNotes(platform)),
    ...infos(operators.flatMap(rightsEverywhere)),
    ...infos(guards.children ? [] : forgeableChildren(operators)),
    ...infos(operators.flatMap(rightsToGrant)),
    ...infos(operators.flatMap(rightsToRead)),
    ...infos(outsideEventsOf(operators).map(becoming)),
  ];
}

function infos(texts: readonly string[]): Note[] {
  return texts.map((text) => ({ severity: "info", text }));
}

function warnings(texts: readonly string[]): Note[] {
  return texts.map((text) => ({ severity: "warn", text }));
}

function versionNotes({ argosyVersion }: Platform): string[] {
  const difference = versionDifference(argosyVersion);
  return difference === undefined ? [] : [difference];
}

function rightsEverywhere({ name, namespaces, children }: Operator): string[] {
  if (namespaces !== "all") return [];
  const kinds = children.filter(({ retired }) => !retired).map(({ kind }) => kind);
  return [
    `the operator ${name} gets rights in the whole cluster: to create, change and delete ${kinds.join(", ") || "no kind"} in every namespace. Set its field namespaces to narrow them.`,
  ];
}

/** An operator of several namespaces probably has objects of several tenants. The API server keeps no record of who sent an apply. */
function forgeableChildren(operators: readonly Operator[]): string[] {
  const shared = operators.filter(
    ({ namespaces, children }) => children.length > 0 && (namespaces === "all" || namespaces.length > 1),
  );
  if (shared.length === 0) return [];
  return [
    `any user who may write the kinds of children can pass objects off as children of ${shared.map(({ name }) => name).join(", ")}: guards: { children: true } prevents that. More: https://github.com/argosy-dev/argosy/blob/main/docs/security.md#users-with-more-rights-than-they-should-use`,
  ];
}

function rightsToGrant({ name, grants }: Operator): string[] {
  if (grants.length === 0) return [];
  const rights = grants.map(
    ({ resources, verbs, resourceNames = [] }) =>
      `${[...verbs].join(", ")} ${resources.join(", ")}${resourceNames.length > 0 ? ` (${resourceNames.join(", ")} only)` : ""}`,
  );
  return [`the operator ${name} gets rights that its children may grant to others: ${rights.join("; ")}.`];
}

function rightsToRead(operator: Operator): string[] {
  const read = describeUses(operator);
  if (read.length === 0) return [];
  return [`the operator ${operator.name} gets rights to read what it uses: ${read.join("; ")}.`];
}

/** The event source of an event, and the object that is created from the event or woken by it. */
function becoming({ operator, event }: OperatorOutsideEvent): string {
  const { port, endpoint } = listenerOf(event) ?? {};
  const place = port === undefined ? "" : `, at port ${port}, ${endpoint}`;
  if ("wake" in event)
    return `each event ${event.name} of ${event.type}${place} wakes the ${operator.customResource.kind} that it names.`;
  const { namespace = "no namespace" } = event;
  const where = typeof namespace === "string" ? namespace : namespace.allowed.join(" or ");
  return `each event ${event.name} of ${event.type}${place} becomes a ${operator.customResource.kind} in ${where}.`;
}

/** The objects that an operator may read because it uses them, in words. */
function describeUses(operator: Operator): string[] {
  const texts = selectionsOf(operator).map(({ kind, name, namespaces, isPolled }) => {
    const what = name === undefined ? `every ${kind}` : `${kind} ${name}`;
    const where = namespaces === "all" ? "in every namespace" : `in ${namespaces.join(", ")}`;
    return `${what} ${where}${isPolled ? ", by name and without listing any" : ""}`;
  });
  return [...new Set(texts)];
}
