import { GRANT_REMEDY } from "../children/refusals";
import type { Operator } from "../definition/definition";
import { ReconcileFailure } from "../failure";
import { isApiError } from "../kubernetes/errors";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import { isSameKind, kindKey, type Resource } from "../kubernetes/resource";
import type { NotSynced, Scopes } from "../watch/scopes";
import { StillListingError } from "./errors";

/** What {@link Completeness} looks at. */
export interface CompletenessOptions {
  readonly operator: Pick<Operator, "children">;
  /** The kinds of the children that were found in the cluster so far. */
  readonly childResources: readonly Resource[];
  readonly objects: Pick<Scopes, "notSynced">;
  readonly children: Pick<Scopes, "notSynced">;
  /** Undefined if nothing is remembered outside of the objects. */
  readonly memories: Pick<Scopes, "notSynced"> | undefined;
}

const RETRY = { retryAfterSeconds: 30 };
const ROLE_REMEDY =
  "Somebody probably changed the runner's ClusterRole or its ClusterRoleBinding: run `pulumi up --refresh`.";

/**
 * Says of an object whether all is known that a reconcile needs.
 *
 * Guarantee (tests/integration/hostile/namespaces.test.ts): a kind or a namespace that is missing holds up only the
 * objects that need it.
 */
export class Completeness {
  constructor(private readonly options: CompletenessOptions) {}

  /**
   * Why an object cannot be reconciled now: it may have children that are not known. Undefined if it can be reconciled.
   * @param kinds the kinds of children that the engine remembers for the object, as `kindKey` gives them
   * @param isElsewhere whether it has children in other namespaces
   */
  whyNot(
    object: KubernetesObject,
    kinds: readonly string[],
    isElsewhere: boolean,
  ): ReconcileFailure | StillListingError | undefined {
    const { operator, childResources, children } = this.options;
    const served = childResources.map(kindKey);
    const isRemembered = (kind: string) => kinds.some((each) => isSameKind(each, kind));
    // Of a kind that is retired, and that the cluster does not serve, nothing is left.
    const missing = operator.children
      .filter(({ retired }) => !retired)
      .map(kindKey)
      .find((kind) => isRemembered(kind) && !served.includes(kind));
    if (missing !== undefined) return kindMissing(missing);
    const notSynced = children
      .notSynced(isElsewhere ? undefined : object.metadata.namespace)
      .find(({ resource, problem }) => !problem || isRemembered(kindKey(resource)));
    return notSynced && notSyncedError(notSynced);
  }

  /**
   * Throws if an object of that name may be there although no watch shows it.
   * @throws ReconcileFailure, StillListingError
   */
  assertSeen({ namespace }: ObjectName): void {
    const [notSynced] = this.options.objects.notSynced(namespace);
    if (notSynced) throw notSyncedError(notSynced, "of which it watches objects");
  }

  /**
   * Throws if not everything is known that must be remembered.
   * @throws ReconcileFailure, StillListingError
   */
  assertRemembers(): void {
    const [notSynced] = this.options.memories?.notSynced(undefined) ?? [];
    if (notSynced) throw notSyncedError(notSynced, "in which is kept what must be remembered");
  }
}

function kindMissing(kind: string, why = "of which the object has children"): ReconcileFailure {
  const message = `the cluster serves no ${kind}, ${why}. Install what brings that kind: the object is reconciled again as soon as it is there.`;
  return new ReconcileFailure("KindMissing", message, RETRY);
}

function notSyncedError(
  { resource, namespace, problem }: NotSynced,
  why?: string,
): ReconcileFailure | StillListingError {
  const what = `${kindKey(resource)}${namespace === undefined ? "" : ` in namespace ${namespace}`}`;
  if (!problem) return new StillListingError(what);
  if (isApiError(problem, 404)) return kindMissing(kindKey(resource), why);
  const message = `the runner may not list ${what}: ${problem.message}.`;
  if (namespace === undefined)
    return new ReconcileFailure("KindNotListed", `${message} ${ROLE_REMEDY}`, RETRY);
  return new ReconcileFailure("NamespaceNotGranted", `${message} ${GRANT_REMEDY}`, RETRY);
}
