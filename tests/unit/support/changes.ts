import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../runtime/base/json";
import type { Registration, Run } from "./program";

/**
 * What a preview shows between two runs of a program, as "update memcached-runner", by the resources' names in
 * Pulumi's tree: as the provider decides it, an object of another name is a replacement, and so is an immutable
 * ConfigMap with other data (pulumi-kubernetes, provider/pkg/provider/provider.go, Diff).
 */
export function changesBetween(before: Run, after: Run): string[] {
  const old = byUrn(before);
  const now = byUrn(after);
  const created = [...now].filter(([urn]) => !old.has(urn)).map(([, { name }]) => `create ${name}`);
  const deleted = [...old].filter(([urn]) => !now.has(urn)).map(([, { name }]) => `delete ${name}`);
  const changed = [...now].flatMap(([urn, registration]) => {
    const previous = old.get(urn);
    if (!previous || isDeepStrictEqual(previous.inputs, registration.inputs)) return [];
    return [`${isReplaced(previous, registration) ? "replace" : "update"} ${registration.name}`];
  });
  return [...created, ...deleted, ...changed].sort();
}

function byUrn({ registrations }: Run): Map<string, Registration> {
  return new Map(registrations.filter(({ custom }) => custom).map((each) => [each.urn, each]));
}

function isReplaced(before: Registration, after: Registration): boolean {
  return nameOf(before) !== nameOf(after) || before.inputs.immutable === true;
}

/** The name of a registered object in the cluster. */
export function nameOf({ inputs }: Registration): unknown {
  return isRecord(inputs.metadata) ? inputs.metadata.name : undefined;
}
