import { isRecord, isText } from "../base/json";
import { isSecretKind } from "../base/kinds";
import { allIdentitiesOf, identityOf, type OperatorNames, USED_BY_LABEL } from "../base/names";
import { isObjectName, type KubernetesObject } from "../base/objects";
import type { Operator, Use } from "./definition";

/** Stands for every entry of a list in a field path: `[*]`. */
export const EACH = Symbol("[*]");

/** A step of a field path: into a field, or into every entry of a list. */
export type Step = string | typeof EACH;

/** A name or a label's value in `uses`: a constant in quotes, or the path of a field of the object. */
export type Term = { readonly constant: string } | { readonly path: readonly Step[] };

/** Objects of a use that are named. */
export interface NameReference {
  /** The namespace of the named objects. Undefined if the custom resource has none and the definition gives none. */
  readonly namespace: string | undefined;
  /** Without repetitions, in the order of the field: see {@link isTooMany}. */
  readonly names: readonly string[];
}

/** Objects of a use that are selected: those that have one of the values for each of the labels. */
export interface LabelReference {
  readonly namespace: string | undefined;
  readonly labels: Readonly<Record<string, readonly string[]>>;
}

/** What one object refers to by one use. */
export type Reference = NameReference | LabelReference;

/**
 * The most names, and the most values of a label, that one custom resource may have for one use. The author of a custom resource
 * is not trusted, and each name is kept and may be read again and again.
 */
export const MOST_REFERENCES = 500;

/** What may be the value of a label (kubernetes, apimachinery/pkg/util/validation, IsValidLabelValue). */
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const STEP = /\.([A-Za-z_][\w-]*)|\[(\*)\]|\['([^']+)'\]|\["([^"]+)"\]/y;

/** Whether a text can be the value of a label. */
export function isLabelValue(text: string): boolean {
  return LABEL_VALUE.test(text);
}

/** Reads a constant in quotes or a field path. Undefined if the text is neither. */
export function parseTerm(text: string): Term | undefined {
  const [, , constant] = /^(['"])(.*)\1$/s.exec(text) ?? [];
  if (constant !== undefined) return { constant };
  const path: Step[] = [];
  const steps = `.${text}`;
  for (STEP.lastIndex = 0; STEP.lastIndex < steps.length; ) {
    const found = STEP.exec(steps);
    if (!found) return undefined;
    const [, field, each, ...quoted] = found;
    path.push(each ? EACH : (field ?? quoted.find((key) => key !== undefined) ?? ""));
  }
  return { path };
}

/** Whether a use gives the handler a list. If not, it gives one object or null. */
export function isList({ name }: { readonly name?: string | undefined }): boolean {
  const term = name === undefined ? undefined : parseTerm(name);
  return term === undefined || ("path" in term && term.path.includes(EACH));
}

/** The constant that a text is, or undefined. */
export function constantIn(text: string | undefined): string | undefined {
  const term = text === undefined ? undefined : parseTerm(text);
  return term && "constant" in term ? term.constant : undefined;
}

/**
 * The objects to which an object refers by a use. A field that is missing refers to nothing, and so does a field that does not
 * hold a name: the author of a custom resource is not trusted, and a name becomes part of a URL. If there are too many names, one
 * more than allowed is kept, so that {@link isTooMany} notices.
 */
export function referenceOf(use: Use, object: Pick<KubernetesObject, "metadata">): Reference {
  const namespace = use.namespace ?? object.metadata.namespace;
  if (use.name !== undefined) {
    const names = valuesOf(
      use.name,
      object,
      (name) => isObjectName(name) && (use.names?.includes(name) ?? true),
    );
    return { namespace, names };
  }
  const labels = Object.entries(use.labels ?? {}).map(([label, value]) => [
    label,
    valuesOf(value, object, isLabelValue),
  ]);
  return { namespace, labels: Object.fromEntries(labels) };
}

/** What an object refers to, by the keys of the uses. */
export function referencesOf(
  uses: Readonly<Record<string, Use>>,
  object: Pick<KubernetesObject, "metadata">,
): ReadonlyMap<string, Reference> {
  return new Map(Object.entries(uses).map(([key, use]) => [key, referenceOf(use, object)]));
}

/** Whether a reference has more than {@link MOST_REFERENCES} names, or values of a label. Then the reference is not whole. */
export function isTooMany(reference: Reference): boolean {
  return listsOf(reference).some(({ length }) => length > MOST_REFERENCES);
}

/** Whether a reference refers to nothing, whatever exists. */
export function isEmpty(reference: Reference): boolean {
  return listsOf(reference).some(({ length }) => length === 0);
}

/** The names of a reference, or the values of each of its labels. */
function listsOf(reference: Reference): (readonly string[])[] {
  return "names" in reference ? [reference.names] : Object.values(reference.labels);
}

/** Whether labels are those that a reference selects. */
export function isSelected(
  { labels }: LabelReference,
  its: Readonly<Record<string, string>> | undefined,
): boolean {
  return Object.entries(labels).every(([label, values]) => {
    const value = its?.[label];
    return value !== undefined && values.includes(value);
  });
}

/** The reference as a selector of the API. Undefined if it selects nothing. */
export function selectorOf(reference: LabelReference): string | undefined {
  if (isEmpty(reference)) return undefined;
  return Object.entries(reference.labels)
    .map(([label, values]) =>
      values.length === 1 ? `${label}=${values[0]}` : `${label} in (${values.join(",")})`,
    )
    .join(",");
}

/**
 * The texts at a path of an object, or the constant, without repetitions and without those that `isRight` refuses. At most one
 * more than {@link MOST_REFERENCES}.
 */
function valuesOf(text: string, object: object, isRight: (value: string) => boolean): string[] {
  const term = parseTerm(text);
  if (!term) return [];
  if ("constant" in term) return [term.constant].filter(isRight);
  const found = term.path.reduce<unknown[]>(
    (values, step) =>
      values.flatMap((value) => {
        if (step === EACH) return Array.isArray(value) ? value : [];
        return isRecord(value) && Object.hasOwn(value, step) ? [value[step]] : [];
      }),
    [object],
  );
  const values = new Set<string>();
  for (const value of found) {
    if (isText(value) && isRight(value)) values.add(value);
    if (values.size > MOST_REFERENCES) break;
  }
  return [...values];
}

/** One selection of objects that an operator reads because it uses them. Rights and watches both follow from it. */
export interface UsedSelection {
  /** The key of the use in the definition. */
  readonly key: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  /** Where the objects are. */
  readonly namespaces: Operator["namespaces"];
  /** Only the object with this name, in each namespace. @default all */
  readonly name?: string;
  /** Only objects with these labels. @default all */
  readonly labelSelector?: string;
  /** Whether only their metadata is watched. The objects that are used are then read. */
  readonly isMetadataOnly: boolean;
  /**
   * Whether objects are read one by one, by their names, and again from time to time. That is so for Secrets that may be in any
   * namespace and have any name: an account that may list them may read all Secrets of the cluster.
   */
  readonly isPolled: boolean;
}

/** The uses that an operator declares. */
export interface Uses {
  readonly uses: Operator["uses"];
}

/** The parts of an operator that say which objects it uses. */
export interface UsingOperator extends Uses, OperatorNames {
  readonly namespaces: Operator["namespaces"];
}

/** The use of that key, which must exist. */
export function useOf({ uses }: Uses, key: string): Use {
  const use = uses[key];
  if (!use) throw new Error(`there is no use ${key}`);
  return use;
}

/** The names that the definition lists for a use. Undefined if it lists none: an object names what it uses. */
export function listedNames({ name, names }: Pick<Use, "name" | "names">): readonly string[] | undefined {
  const constant = constantIn(name);
  return constant === undefined ? names : [constant];
}

/** Everything that an operator reads because it uses it. */
export function selectionsOf(operator: UsingOperator): UsedSelection[] {
  return Object.entries(operator.uses).flatMap(([key, use]): UsedSelection[] => {
    const { apiVersion, kind, plural, namespace } = use;
    const namespaces = namespace === undefined ? operator.namespaces : [namespace];
    const common = { key, apiVersion, kind, plural, namespaces };
    const names = listedNames(use);
    if (names !== undefined)
      return names.map((name) => ({ ...common, name, isMetadataOnly: false, isPolled: false }));
    const isSecret = isSecretKind(use);
    if (isSecret && namespaces === "all") return [{ ...common, isMetadataOnly: false, isPolled: true }];
    const selectors = [
      // By this label, a Secret says who may use it.
      ...(isSecret ? [`${USED_BY_LABEL} in (${allIdentitiesOf(operator).map(identityOf).join(",")})`] : []),
      ...Object.entries(use.labels ?? {}).map(([label, value]) => {
        const constant = constantIn(value);
        return constant === undefined ? label : `${label}=${constant}`;
      }),
    ];
    return [
      {
        ...common,
        ...(selectors.length > 0 && { labelSelector: selectors.join(",") }),
        // All objects of a kind are too many to keep whole, and few of them are used.
        isMetadataOnly: selectors.length === 0,
        isPolled: false,
      },
    ];
  });
}
