// Manifests that a new handler returns: read from a file, with the object's name in the place of theirs.
import { checkChildren } from "../../definition/checkChildren";
import { isGranting } from "../../definition/checkGrants";
import { Problems } from "../../definition/problems";
import { readYaml, type YamlDocument } from "../../definition/readYaml";
import { loneSurrogateIn } from "../../runtime/base/json";
import { isNamespaced, isSecretKind } from "../../runtime/base/kinds";
import { isDnsName, isJsonObject, type Json, type JsonObject } from "../../runtime/base/objects";
import { isKindKey, kindOfKey } from "../../runtime/base/resource";
import type { Operator } from "../../runtime/cli";

type CustomResourceKind = Operator["customResource"];

/** A text that begins with this is the object's name, followed by the rest of the text. It is half of a character: no object has it. */
const NAME_MARK = "\uDC00";

/** What follows the object's name in a text. Undefined for any other text. */
export function suffixOf(text: string): string | undefined {
  return text.startsWith(NAME_MARK) ? text.slice(NAME_MARK.length) : undefined;
}

/** The manifests for an object with a name. */
export function named<Content extends Json>(content: Content, name: string): Content {
  return replaced(content, (text) => {
    const suffix = suffixOf(text);
    return suffix === undefined ? text : `${name}${suffix}`;
  });
}

/** A ConfigMap, for a handler to begin with. */
export function sampleChild(isOwnerNamespaced: boolean, content: string): JsonObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: NAME_MARK, ...(!isOwnerNamespaced && { namespace: "default" }) },
    data: { content },
  };
}

/**
 * The manifests in a file. The name that most of them have is replaced by the object's: in their names, labels, selectors and
 * references to one another. Status and what a cluster adds are left out.
 *
 * @param owner the kind of objects whose children they become
 * @throws OperatorError with file and line of each manifest that no handler should return
 */
export function readManifests(file: string, owner: CustomResourceKind): readonly JsonObject[] {
  const problems = new Problems();
  const documents = readYaml(file, "Name a file of manifests with --from.", problems) ?? [];
  if (!problems.found && documents.length === 0)
    problems.in(file)("the file", "is empty", "Give a file with at least one manifest.");
  for (const document of documents) checkManifest(document);
  checkTogether(documents, owner);
  if (!problems.found) checkKinds(documents, owner);
  if (problems.found) throw problems.toError();
  const manifests = documents.map(({ content }) => content as JsonObject);
  const names = namesIn(manifests);
  return manifests.map((manifest) => childOf(manifest, names, owner));
}

function checkManifest({ content, report }: YamlDocument): void {
  if (!isJsonObject(content)) return report("the document", "is no manifest", "Give manifests of objects.");
  const half = loneSurrogateIn(content, "");
  if (half !== undefined) return report(half.slice(1), "has half of a character", "Correct it.");
  const { apiVersion, kind } = content;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || !isKindKey(`${apiVersion}/${kind}`))
    return report("the document", "has no apiVersion and kind", "Give manifests of objects.");
  if (Array.isArray(content.items))
    return report("kind", `is ${kind}, a list of objects`, "Make each of its items a document of the file.");
  const { name } = metadataOf(content);
  if (typeof name !== "string" || !isDnsName(name))
    return report(
      "metadata.name",
      "is missing, or is no name of an object",
      "Name the object, for example shop.",
    );
  if (isSecretKind({ apiVersion, kind }))
    return report(
      "kind",
      "is Secret, whose values would stand in the handler",
      "Take it out, and let the object name it: argosy add uses.",
    );
  if (isGranting({ apiVersion, kind }))
    return report(
      "kind",
      `is ${kind}, which grants rights`,
      `Take it out, and add it afterwards: argosy add child OPERATOR ${apiVersion}/${kind} --grants.`,
    );
}

function checkTogether(documents: readonly YamlDocument[], { namespaced }: CustomResourceKind): void {
  const seen = new Set<string>();
  const namespaces = new Set<Json | undefined>();
  for (const { content, report } of documents) {
    if (!isJsonObject(content)) continue;
    const { name, namespace } = metadataOf(content);
    const key = JSON.stringify([content.apiVersion, content.kind, name, namespaced ? "" : namespace]);
    if (seen.has(key))
      report("metadata.name", `is ${name}, as of another ${content.kind} before it`, "Keep one of the two.");
    seen.add(key);
    if (namespace !== undefined) namespaces.add(namespace);
    if (namespaced && namespaces.size > 1)
      report(
        "metadata.namespace",
        `is ${namespace}, and not that of the manifests before it`,
        "Give manifests of one namespace: all become children in that of the object.",
      );
  }
}

/** Checks the kinds as those that a definition declares. */
function checkKinds(documents: readonly YamlDocument[], owner: CustomResourceKind): void {
  const byKind = new Map<string, YamlDocument>();
  for (const document of documents) {
    const { apiVersion, kind } = document.content as JsonObject;
    if (!byKind.has(`${apiVersion}/${kind}`)) byKind.set(`${apiVersion}/${kind}`, document);
  }
  const children = [...byKind.keys()].map((key) => ({ ...kindOfKey(key), retired: false }));
  checkChildren({ children, namespaces: "all" }, owner, (place, complaint, remedy) => {
    const [, index, field] = /^children\[(\d+)\]\.?(.*)$/.exec(place) ?? [];
    [...byKind.values()][Number(index)]?.report(
      field || "kind",
      complaint.replace(/children\[\d+\]/, "an earlier manifest"),
      remedy,
    );
  });
}

/** What follows the object's name in each child's own, by the name in the file. */
function namesIn(manifests: readonly JsonObject[]): ReadonlyMap<string, string> {
  const names = manifests.map((manifest) => String(metadataOf(manifest).name));
  const base = names.find((name) => names.every((other) => other === name || other.startsWith(`${name}-`)));
  return new Map(names.map((name) => [name, base === undefined ? `-${name}` : name.slice(base.length)]));
}

/** Annotations that kubectl or a controller of Kubernetes writes. In a child, each would be changed back without end. */
const WRITTEN =
  /^(kubectl\.kubernetes\.io\/last-applied-configuration|(deployment|pv)\.kubernetes\.io\/.*|volume\.(beta\.)?kubernetes\.io\/(storage-provisioner|selected-node)|deprecated\.daemonset\.template\.generation)$/;

/** Fields of spec that the cluster gave to one object, and to no other. */
const GIVEN: Readonly<Record<string, readonly string[]>> = {
  Service: ["clusterIP", "clusterIPs"],
  PersistentVolumeClaim: ["volumeName"],
};

function childOf(
  manifest: JsonObject,
  names: ReadonlyMap<string, string>,
  owner: CustomResourceKind,
): JsonObject {
  const { apiVersion, kind, metadata: _, status: _status, ...content } = manifest;
  const { name, namespace = "default", labels, annotations, uid } = metadataOf(manifest);
  const isElsewhere = !owner.namespaced && isNamespaced(String(apiVersion), String(kind)) !== false;
  const kept = Object.entries(isJsonObject(annotations) ? annotations : {}).filter(
    ([key]) => !WRITTEN.test(key),
  );
  // Only an exported object has a uid.
  if (uid !== undefined && isJsonObject(content.spec))
    for (const field of GIVEN[String(kind)] ?? [])
      if (String(content.spec[field]) !== "None") delete content.spec[field];
  const mark = (text: string, path: readonly string[]) => {
    const suffix = isReference(path) ? names.get(text) : undefined;
    return suffix === undefined ? text : `${NAME_MARK}${suffix}`;
  };
  const metadata: JsonObject = {
    ...(labels !== undefined && { labels }),
    ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }),
  };
  return {
    ...({ apiVersion, kind } as JsonObject),
    metadata: {
      name: `${NAME_MARK}${names.get(String(name))}`,
      ...(isElsewhere && { namespace }),
      ...replaced(metadata, mark),
    },
    ...replaced(content as JsonObject, mark),
  };
}

/** Whether a field names another object, or is a label by which objects are selected. */
function isReference(path: readonly string[]): boolean {
  const [parent = "", field = ""] = path.slice(-2);
  if (["labels", "matchLabels", "selector"].includes(parent)) return true;
  if (["secretName", "claimName", "serviceName", "serviceAccountName"].includes(field)) return true;
  return field === "name" && /(Ref|^configMap|^service)$/.test(parent);
}

function replaced<Content extends Json>(
  content: Content,
  replace: (text: string, path: readonly string[]) => string,
  path: readonly string[] = [],
): Content {
  const inner = (value: Json, key: string) => replaced(value, replace, [...path, key]);
  if (typeof content === "string") return replace(content, path) as Content;
  if (Array.isArray(content)) return content.map((value) => inner(value, "[]")) as Content;
  if (!isJsonObject(content)) return content;
  return Object.fromEntries(
    Object.entries(content).map(([key, value]) => [key, inner(value, key)]),
  ) as Content;
}

function metadataOf({ metadata }: JsonObject): JsonObject {
  return isJsonObject(metadata) ? metadata : {};
}
