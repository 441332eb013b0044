import { flawFinder } from "../runtime/base/contentSchema";
import { isRecord } from "../runtime/base/json";
import { isJsonObject, type Json, type JsonObject } from "../runtime/base/objects";
import { dropsUnknownFields, propertiesIn, schemaOfField, typed } from "../runtime/base/storedForm";
import type { CustomResourceKind, Operator } from "../runtime/operator/definition";
import type { EventMapping, OutsideEvent, WakeMapping } from "../runtime/operator/mapEvent";
import { constantOf } from "../runtime/operator/mapEvent";
import { type CustomResourceDefinition, specSchemaOf } from "./customResourceDefinition";
import { SOURCE_TYPES } from "./eventSources";
import { didYouMean } from "./nearest";
import type { Report } from "./problems";
import type { CheckedDefinition } from "./schema";

/** The events of a definition, in the order in which it gives them. */
export function outsideEventsOf({ on }: Pick<CheckedDefinition, "on">): OutsideEvent[] {
  return Object.entries(on).map(([name, { id = [], when, create, wake, ttlSecondsAfterReady, ...given }]) => {
    const sources = given as unknown as Readonly<Record<string, JsonObject | undefined>>;
    const type = SOURCE_TYPES.find((each) => sources[each] !== undefined) ?? "webhook";
    const event = { name, type, source: sources[type] ?? {}, when };
    if (wake) return { ...event, wake };
    return {
      ...event,
      id,
      ...(create?.namespace !== undefined && { namespace: create.namespace }),
      // The schema takes no event that neither creates nor wakes.
      spec: create?.spec ?? {},
      ...(ttlSecondsAfterReady !== undefined && { ttlSecondsAfterReady }),
    };
  });
}

/** Checks `on` against the CRD, or the watched kind, and the operator's namespaces. */
export function checkOutsideEvents(
  { on, namespaces }: Pick<CheckedDefinition, "on" | "namespaces">,
  resource: CustomResourceDefinition | undefined,
  report: Report,
): void {
  if (!resource) return;
  const { customResource } = resource;
  const schema = specSchemaOf(resource);
  for (const [name, { create, wake }] of Object.entries(on)) {
    if (wake) checkNamespace(wake.namespace, namespaces, customResource, `on.${name}.wake.namespace`, report);
    if (!create) continue;
    const at = `on.${name}.create`;
    if (create.kind !== customResource.kind) {
      const remedy = `Write kind: ${customResource.kind}.`;
      report(`${at}.kind`, `is ${create.kind}, not the operator's own kind`, remedy);
    }
    checkNamespace(create.namespace, namespaces, customResource, `${at}.namespace`, report);
    checkContent(create.spec, schema, `${at}.spec`, report);
  }
}

function checkNamespace(
  given: (EventMapping | WakeMapping["wake"])["namespace"],
  namespaces: Operator["namespaces"],
  { kind, namespaced }: CustomResourceKind,
  field: string,
  report: Report,
): void {
  if (!namespaced) {
    if (given !== undefined) report(field, `is given, and ${kind} is cluster-scoped`, "Leave it out.");
    return;
  }
  if (given === undefined) return report(field, "is missing", "Name the namespace of the objects.");
  if (namespaces === "all") return;
  for (const each of typeof given === "string" ? [given] : (given.allowed ?? [])) {
    if (namespaces.includes(each)) continue;
    const remedy = "Name one of the operator's namespaces, or add it to them.";
    report(field, `names ${each}, whose objects the operator does not handle`, remedy, ["namespaces"]);
  }
}

/** The parts of a mapping that the CRD's schema does not accept. */
function checkContent(template: Json, schema: JsonObject | undefined, field: string, report: Report): void {
  if (schema === undefined) return;
  if (Array.isArray(template)) {
    if (!expects(schema, "array"))
      return report(field, "is a list, which the CRD's schema does not accept", REMEDY);
    const items = isJsonObject(schema["items"]) ? schema["items"] : undefined;
    for (const [index, each] of template.entries()) checkContent(each, items, `${field}[${index}]`, report);
    return;
  }
  if (!isRecord(template)) {
    const constant = constantOf(template);
    const flaw = constant === undefined ? undefined : flawFinder(schema, field)(typed(constant, schema));
    if (flaw)
      report(field, `is a constant that the CRD's schema does not accept: it ${flaw.complaint}`, REMEDY);
    return;
  }
  if (!expects(schema, "object"))
    return report(field, "is an object, which the CRD's schema does not accept", REMEDY);
  const properties = propertiesIn(schema) ?? {};
  for (const [key, each] of Object.entries(template as JsonObject)) {
    const own = schemaOfField(schema, key);
    if (own === undefined && dropsUnknownFields(schema)) {
      const remedy = didYouMean(key, Object.keys(properties), "Add it to the CRD, or leave it out.");
      report(`${field}.${key}`, "is not in the CRD's schema", remedy);
    } else {
      checkContent(each, own, `${field}.${key}`, report);
    }
  }
  const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
  for (const key of required) {
    if (Object.hasOwn(template, key) || schemaOfField(schema, key)?.["default"] !== undefined) continue;
    report(
      `${field}.${key}`,
      "is missing, and the CRD's schema requires it",
      "Set it from a field of the event.",
    );
  }
}

const REMEDY = "Write what the CRD's schema describes.";

function expects(schema: JsonObject, type: string): boolean {
  return schema["type"] === undefined || schema["type"] === type;
}

/** The address where a source listens. */
interface Listener {
  readonly field: string;
  readonly type: string;
  readonly port: string;
  readonly endpoint: string;
  /** Names of the Secrets with its certificate. */
  readonly certificate: string;
}

/** The address where the source of an event listens. Undefined if the source does not listen, or does not say where. */
export function listenerOf({ name, type, source }: OutsideEvent): Listener | undefined {
  const isOwn = type === "webhook";
  const given = isOwn ? source : source["webhook"];
  if (!isRecord(given)) return undefined;
  const { port, endpoint, serverCertSecret, serverKeySecret } = given as Record<string, unknown>;
  if (typeof port !== "string" || typeof endpoint !== "string") return undefined;
  return {
    field: `on.${name}.${type}${isOwn ? "" : ".webhook"}`,
    type,
    port,
    endpoint,
    certificate: JSON.stringify([serverCertSecret, serverKeySecret]),
  };
}

/**
 * Why two listeners cannot be in one pod. Argo begins a server for each port and each type of source (argo-events,
 * pkg/eventsources/common/webhook/webhook.go: each type has a controller of its own). If two listeners have the same port and
 * path, only the first one gets requests.
 */
export function clashOf(
  one: Listener,
  other: Listener,
): readonly [field: string, complaint: string] | undefined {
  if (one.port === "7777") return ["port", "is 7777, at which Argo serves metrics"];
  if (one.port !== other.port || one === other) return undefined;
  if (one.type !== other.type)
    return ["port", `is ${one.port}, which a source of another type uses: ${other.type}`];
  if (one.endpoint === other.endpoint)
    return ["endpoint", `is ${one.endpoint} at port ${one.port}, which another source has as well`];
  if (one.certificate !== other.certificate)
    return ["port", `is ${one.port}, which another source has with another certificate`];
  return undefined;
}
