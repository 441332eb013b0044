import { isSecretKind } from "../kubernetes/kinds";
import { allIdentitiesOf, identityOf, USED_BY_LABEL } from "../names";
import type { Operator, Use } from "./definition";
import { constantIn } from "./references";

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
   * namespace and have any name: anyone who may list them may read all Secrets of the cluster.
   */
  readonly isPolled: boolean;
}

/** The parts of an operator that say which objects it uses. */
export type UsingOperator = Pick<Operator, "uses" | "namespaces" | "installation" | "name" | "formerNames">;

/** The use of that key, which must exist. */
export function useOf({ uses }: Pick<Operator, "uses">, key: string): Use {
  const use = uses[key];
  if (!use) throw new Error(`there is no use ${key}`);
  return use;
}

/** The names that the definition lists for a use. Undefined if it lists none: an object names what it uses. */
export function listedNames({ name, names }: Pick<Use, "name" | "names">): readonly string[] | undefined {
  const constant = constantIn(name);
  return constant === undefined ? names : [constant];
}

/** The label by which a Secret says who may use it, with the values that mean this operator. */
function usedBySelector(operator: UsingOperator): string {
  const identities = allIdentitiesOf(operator).map(identityOf);
  const [identity = "", ...former] = identities;
  return former.length === 0
    ? `${USED_BY_LABEL}=${identity}`
    : `${USED_BY_LABEL} in (${identities.join(",")})`;
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
      ...(isSecret ? [usedBySelector(operator)] : []),
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
