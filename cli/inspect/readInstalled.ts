import { ARGOSY_VERSION, PACKAGE_NAME } from "../../components/package";
import { isRecord } from "../../runtime/base/json";
import type { OperatorIdentity } from "../../runtime/base/names";
import { isDnsName, type KubernetesObject } from "../../runtime/base/objects";
import { DEFINITION_FILE, type Operator } from "../../runtime/cli";

/** The part of an operator's definition that an installed operator reveals. */
export type InstalledDefinition = Pick<
  Operator,
  "name" | "installation" | "formerNames" | "customResource" | "watch" | "namespaces" | "execution"
>;

/** An operator that a program has deployed to a cluster. */
export interface InstalledOperator extends InstalledDefinition {
  /** The namespace of its runner and its runs. */
  readonly home: string;
  /** The version of Argosy that deployed it. Undefined if nothing says it. */
  readonly argosyVersion?: string | undefined;
  /** Its whole definition, if this version of Argosy deployed it. Another version may deploy other objects. */
  readonly whole?: Operator;
}

/** An installed operator whose definition has a form that this command does not know. */
export interface UnreadableOperator {
  readonly name: string;
  readonly home: string;
  readonly argosyVersion?: string | undefined;
  /** "deployed by Argosy 2.0.0, and this command, of Argosy 1.4.0, cannot read its definition: namespaces is not a list" */
  readonly complaint: string;
  readonly remedy: string;
}

/** The operators that are deployed to a cluster, as far as they are seen. */
export interface InstalledOperators {
  readonly operators: readonly InstalledOperator[];
  /** Those whose definitions this command cannot read. They may handle any kind. */
  readonly unreadable: readonly UnreadableOperator[];
  /** Why others may be installed too, as a clause: the account may not list them all. Undefined if it may. */
  readonly unseen?: string | undefined;
}

/** The fields of {@link InstalledDefinition}, and those of its `customResource`. */
const NEEDED = {
  name: "a string",
  installation: "a string",
  formerNames: "a list",
  customResource: "an object",
  execution: "a string",
} as const;
/** The further fields of a definition that this version of Argosy wrote. */
const NEEDED_OF_OURS = { children: "a list", uses: "an object", rules: "a list" } as const;
const NEEDED_OF_KIND = {
  group: "a string",
  version: "a string",
  kind: "a string",
  plural: "a string",
  namespaced: "a boolean",
} as const;

/** A kind has the form of a DNS label, and mostly capitals. */
const KIND = /^[a-z]([-a-z0-9]*[a-z0-9])?$/i;
/**
 * Fields that become parts of paths, and that commands show. Any user who may create ConfigMaps in a namespace can make up a
 * definition there.
 */
const NAMES: Readonly<Record<string, (text: string) => boolean>> = {
  name: isLabel,
  installation: isLabel,
};
const NAMES_OF_KIND: typeof NAMES = {
  group: (text) => text === "" || isDnsName(text),
  version: isLabel,
  kind: (text) => KIND.test(text),
  plural: isLabel,
};

/**
 * What to do if the cluster lacks what was deployed to it. Pulumi believes its own state, and does not see what others deleted,
 * unless it refreshes.
 */
export const AFTER_DELETION = "If what was deployed before has been deleted, run pulumi up --refresh.";

/** What to do if the cluster lacks an object of this kind that was deployed to it. See {@link AFTER_DELETION}. */
export function createAgain(kind: string): string {
  return `Run pulumi up --refresh. If the ${kind} was deleted, pulumi up alone does not see that.`;
}

/** Reads the ConfigMap of an operator's definition, which another version of Argosy may have written. */
export function readInstalled({ metadata, data }: KubernetesObject): InstalledOperator | UnreadableOperator {
  const { name, namespace: home = "", labels = {} } = metadata;
  const argosyVersion = labels["app.kubernetes.io/version"];
  const definition = contentOf(data);
  const flaws = flawsIn(definition, argosyVersion);
  if (flaws.length === 0) {
    const whole = { ...(definition as Operator), folder: "", crd: {}, overridden: [], grants: [] };
    return {
      ...(definition as InstalledDefinition),
      home,
      argosyVersion,
      ...(argosyVersion === ARGOSY_VERSION && { whole }),
    };
  }
  const by = argosyVersion === undefined ? "an unknown version of Argosy" : `Argosy ${argosyVersion}`;
  const isOurs = argosyVersion === undefined || argosyVersion === ARGOSY_VERSION;
  return {
    name: labels["app.kubernetes.io/name"] ?? name,
    home,
    argosyVersion,
    complaint: `deployed by ${by}, and this command, of Argosy ${ARGOSY_VERSION}, cannot read its definition: ${flaws.join(", and ")}`,
    remedy: isOurs
      ? "Deploy the operator again with pulumi up --refresh."
      : `Use the command of that version: npx ${PACKAGE_NAME}@${argosyVersion}`,
  };
}

/** Whether the definition of an operator could be read. */
export function isReadable(found: InstalledOperator | UnreadableOperator): found is InstalledOperator {
  return "customResource" in found;
}

/** The part of {@link InstalledOperators} that says what is not known of them. */
type Unknowns = Pick<InstalledOperators, "unreadable" | "unseen">;

/** What is known of the operators of a kind, in a sentence, if none of those whose definitions can be read handles it. */
export function noneHandles(kind: string, known: Unknowns): string {
  const about = `operator for ${kind} is installed in this cluster`;
  const why = whyUnknown(known);
  return why === undefined ? `No ${about}.` : `Whether an ${about} is not known, because ${why}.`;
}

/** Why other operators than the readable ones may be installed, as a clause. Undefined if none may be. */
export function whyUnknown({ unreadable, unseen }: Unknowns): string | undefined {
  const names = unreadable.map(({ name }) => name).join(" and of ");
  const unread = names === "" ? [] : [`the definition of ${names} cannot be read`];
  return [...(unseen ? [unseen] : []), ...unread].join(", and ") || undefined;
}

/** What to do in order to know all operators, a sentence each. */
export function remediesOf({ unreadable, unseen }: Unknowns): readonly string[] {
  return [...(unseen ? [SEE_ALL] : []), ...unreadable.map(({ remedy }) => remedy)];
}

/** What to do if operators may be installed that the account may not see. */
export const SEE_ALL = "Ask for the right to list configmaps in all namespaces.";

function contentOf(data: unknown): unknown {
  const text = isRecord(data) ? data[DEFINITION_FILE] : undefined;
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function flawsIn(definition: unknown, argosyVersion: string | undefined): string[] {
  if (!isRecord(definition)) return [`${DEFINITION_FILE} is not an object`];
  const { customResource, namespaces, watch } = definition;
  return [
    ...flawsOf(definition, argosyVersion === ARGOSY_VERSION ? { ...NEEDED, ...NEEDED_OF_OURS } : NEEDED),
    ...badNames(definition, NAMES),
    ...(isRecord(customResource)
      ? [...flawsOf(customResource, NEEDED_OF_KIND), ...badNames(customResource, NAMES_OF_KIND)]
      : []),
    ...(namespaces === "all" || Array.isArray(namespaces) ? [] : ["namespaces is not a list"]),
    ...(watch === undefined || (isRecord(watch) && isRecord(watch["labels"])) ? [] : ["watch has no labels"]),
  ];
}

/** The fields of a definition that are not what they must be: "namespaces is not a list". */
function flawsOf(
  definition: Readonly<Record<string, unknown>>,
  needed: Readonly<Record<string, string>>,
): string[] {
  return Object.entries(needed)
    .filter(([field, kind]) => kindOf(definition[field]) !== kind)
    .map(([field, kind]) => `${field} is not ${kind}`);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isRecord(value)) return "an object";
  return typeof value === "string" ? "a string" : `a ${typeof value}`;
}

/** The texts of a definition that are not the names that they must be: "installation is not a name". */
function badNames(definition: Readonly<Record<string, unknown>>, names: typeof NAMES): string[] {
  return Object.entries(names).flatMap(([field, isName]) => {
    const text = definition[field];
    return typeof text === "string" && !isName(text) ? [`${field} is not a name`] : [];
  });
}

function isLabel(text: string): boolean {
  return isDnsName(text) && !text.includes(".");
}

/** The operator of which `identityOf` made the word. Undefined for any other word. */
export function identityIn(word: string): OperatorIdentity | undefined {
  const [, installation, name] = /^([^.]+)\.([^.]+)$/.exec(word) ?? [];
  return installation === undefined || name === undefined ? undefined : { installation, name };
}
