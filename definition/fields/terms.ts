/** The parts of several fields of a definition: names of Kubernetes, kinds and images. */
import { either, filledListOf, mapOf, pattern, quoted, text, word } from "../checks";

/** A DNS label (RFC 1123) of any allowed length. The name of a namespace is one. */
export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** @param example the namespace that the remedy shows */
export function namespaceName(example: string) {
  return pattern(DNS_LABEL, "the name of a namespace", `Name a namespace, for example ${example}.`);
}

const NAMESPACES_REMEDY = "Write all or a list of namespaces, for example [team-a].";

/** Namespaces: all of them, or a list. */
export const NAMESPACES = either(
  [
    word("all", 'neither "all" nor a list', NAMESPACES_REMEDY),
    filledListOf(namespaceName("team-a"), NAMESPACES_REMEDY),
  ],
  '"all" or a list',
  NAMESPACES_REMEDY,
);

/** An image, pinned by tag or digest. */
export const IMAGE = text("Pin the image by tag or digest, for example image: python:3.13-slim.", (name) => {
  if (/\s|^[:@]/.test(name)) return `is ${quoted(name)}, which cannot be the name of an image`;
  if (/@sha256:[0-9a-f]{64}$/.test(name)) return undefined;
  // A colon before the last slash belongs to a registry's port.
  const tag = name.slice(name.lastIndexOf("/") + 1).split(":")[1];
  if (!tag) return `is ${quoted(name)}, without a tag or a digest`;
  return tag === "latest" ? `is ${quoted(name)}, and "latest" is a different image every time` : undefined;
});

/** Group and version of a kind. */
export const API_VERSION = pattern(
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[0-9][a-z0-9]*$/,
  "a group and version",
  "Write it as the manifest does, for example apiVersion: apps/v1.",
).describe("Group and version, as in the manifest: apps/v1, v1.");

/** A kind of objects. */
export const KIND = pattern(
  /^[A-Z][A-Za-z0-9]*$/,
  "a kind",
  "Name the kind as the manifest does, for example kind: Service.",
).describe("The kind, as in the manifest: Deployment.");

/** The name of a resource in the API. */
const PLURAL = pattern(
  /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
  "the lower-case plural of a resource",
  "Name it as `kubectl api-resources` does.",
);

/** The plural of a kind that another program may own. */
export const IRREGULAR_PLURAL = PLURAL.optional().describe(
  "The resource's name in the API: deployments. Needed only for a kind that is not Kubernetes' own and has an irregular plural.",
);

/** @param where the place of the Secret: "the operators' namespace" */
export function secretName(where: string) {
  return pattern(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, "the name of a Secret", `Name ${where}.`);
}

/** A key of a Secret. */
export const SECRET_KEY = pattern(/^[-._a-zA-Z0-9]+$/, "a key of a Secret", "Name the key in that Secret.");

/** The name of a resource of a container, as Kubernetes takes it: any name without a slash is one of its own. */
export const RESOURCE = pattern(
  /^(cpu|memory|ephemeral-storage|hugepages-[0-9]+[KMGT]i|[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$/,
  "a resource",
  "Name one, for example memory, or nvidia.com/gpu.",
);

/** The name of a label. */
export function labelName(remedy: string) {
  const name = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
  return pattern(name, "the name of a label", remedy);
}

/** Labels that objects must have. */
export function labels(remedy: string) {
  return mapOf(
    labelName(remedy),
    text(
      remedy,
      (value) => {
        if (value.includes("*")) return `is ${quoted(value)}, a wildcard: a label has one value`;
        const isValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/.test(value);
        return isValue ? undefined : `is ${quoted(value)}, which cannot be the value of a label`;
      },
      0,
    ),
    remedy,
  );
}
