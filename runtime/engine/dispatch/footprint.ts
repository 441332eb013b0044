import { fingerprint, isRecord } from "../../base/json";
import { formatName, type KubernetesObject } from "../../base/objects";
import type { Used } from "../../handler/contract";
import type { Child } from "../../observe/childStore";
import { storeKey } from "../../observe/store";
import { partsOf } from "../../observe/watched";
import type { Operator } from "../../operator/definition";
import { statusOf } from "../../report/workflows";

/**
 * A fingerprint of an object's children and of the fields that we own of them. It differs if a child is gone or has lost its
 * labels, or if another client removed or changed one of our fields. Children that are created once are left out: any client may
 * delete or change them.
 * @param children sorted, as a `ChildStore` gives them
 */
export function childrenFingerprint(children: readonly Child[], { children: kinds }: Operator): string {
  const isFollowed = ({ resource: { apiVersion, kind } }: Child) =>
    kinds.find((each) => each.apiVersion === apiVersion && each.kind === kind)?.update !== "never";
  return fingerprint(
    children
      .filter(isFollowed)
      .map((child) => [storeKey(child.resource, child), child.uid, child.facts.owned]),
  );
}

/**
 * A fingerprint of the parts of an object that a handler sees. It may differ even if the object's generation does not: a label may
 * have changed, or a default was added to the CustomResourceDefinition. For an object that we do not own, only the parts count
 * whose change causes a reconcile.
 */
export function contentFingerprint(object: KubernetesObject, { watch }: Pick<Operator, "watch">): string {
  if (watch) return fingerprint(partsOf(object, watch.on));
  const { apiVersion: _a, kind: _k, status: _s, metadata, ...content } = object;
  const { labels, annotations } = metadata;
  return fingerprint([content, labels, annotations]);
}

/** A fingerprint of an object as a run is to see it. It differs after each change that calls for another run, also a deletion. */
export function changeFingerprint(object: KubernetesObject, operator: Operator): string {
  return fingerprint([object.metadata.generation, contentFingerprint(object, operator)]);
}

/** A fingerprint of the objects that an object uses. It differs if one of them was created, deleted or written. */
export function usedFingerprint(used: Used): string | undefined {
  const keys = Object.entries(used);
  if (keys.length === 0) return undefined;
  return fingerprint(keys.map(([key, objects]) => [key, [objects].flat().map(versionOf)]));
}

function versionOf(object: KubernetesObject | null) {
  return object && [formatName(object.metadata), object.metadata.uid, object.metadata.resourceVersion];
}

/** A fingerprint of the program that a run works with. Undefined if Argo has not yet noted the template of the run. */
export function programOfRun(workflow: KubernetesObject): string | undefined {
  return programFingerprint(statusOf(workflow).storedWorkflowTemplateSpec);
}

/**
 * A fingerprint of the engine and the handler that the `spec` of a WorkflowTemplate runs: the names of its ConfigMaps, which
 * follow from their content, the images that it mounts, and the image, command and environment of each container. Undefined if
 * there is none.
 */
export function programFingerprint(spec: unknown): string | undefined {
  if (!isRecord(spec)) return undefined;
  const containers = recordsIn(spec["templates"]).flatMap(({ containerSet }) =>
    recordsIn(isRecord(containerSet) ? containerSet["containers"] : undefined),
  );
  const programs = containers.map(({ image, command, env }) => [
    image,
    command,
    // Argo notes a template without the empty texts that were written in it.
    recordsIn(env).map(({ name, value, valueFrom }) => [name, value || undefined, valueFrom]),
  ]);
  const images = volumesOf(spec).flatMap(({ image }) => textOf(image, "reference"));
  const mounted = [...configMapsOf(spec), ...images].sort();
  return fingerprint([mounted, programs]);
}

/** The ConfigMaps that the volumes of a Workflow's templates name. */
export function configMapsOf(spec: unknown): Set<string> {
  const sources = volumesOf(spec).flatMap((volume) => [
    volume,
    ...recordsIn(isRecord(volume["projected"]) ? volume["projected"]["sources"] : undefined),
  ]);
  return new Set(sources.flatMap(({ configMap }) => textOf(configMap, "name")));
}

function volumesOf(spec: unknown): Record<string, unknown>[] {
  return recordsIn(isRecord(spec) ? spec["templates"] : undefined).flatMap(({ volumes }) =>
    recordsIn(volumes),
  );
}

function textOf(source: unknown, key: string): string[] {
  const text = isRecord(source) ? source[key] : undefined;
  return typeof text === "string" ? [text] : [];
}

function recordsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
