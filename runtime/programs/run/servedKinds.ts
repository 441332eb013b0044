import { kindMissing, ReconcileFailure } from "../../base/failure";
import { apiVersionOf } from "../../base/objects";
import { isSameKind, kindKey, type Resource } from "../../base/resource";
import type { HandlerEvent } from "../../handler/contract";
import type { KubernetesClient } from "../../kubernetes/client";
import { findResource, UnknownKindError } from "../../kubernetes/discovery";
import { ApiError } from "../../kubernetes/errors";
import type { Operator } from "../../operator/definition";
import { KIND_PATIENCE_MS, Patience } from "./patience";

/** The kinds of an operator's children, as far as the API server says how it serves them. */
export class ServedKinds {
  private constructor(
    /** Those that the cluster serves. If a handler answers a child of another kind, its object reports that. */
    readonly found: readonly Resource[],
    /** Why it is not known how the others are served, by their kinds. */
    private readonly unknown: ReadonlyMap<string, ReconcileFailure>,
    /** The failures of those that the cluster does not serve, and that are not retired, by their kinds. */
    private readonly missing: ReadonlyMap<string, ReconcileFailure>,
  ) {}

  /**
   * Asks about all kinds.
   * @param patience for the server of a kind that is away for a moment
   * @throws ApiUnreachableError, ApiError 429 if the API server is out of reach, or busy
   */
  static async of(
    operator: Operator,
    client: KubernetesClient,
    patience = new Patience(KIND_PATIENCE_MS),
  ): Promise<ServedKinds> {
    const unknown = new Map<string, ReconcileFailure>();
    const missing = new Map<string, ReconcileFailure>();
    const found = await Promise.all(
      operator.children.map(({ apiVersion, kind, retired }) => {
        const key = kindKey({ apiVersion, kind });
        return patience
          .retried(() => findResource(client, apiVersion, kind))
          .catch((error: Error) => {
            if (error instanceof UnknownKindError) {
              const failure = kindMissing({ apiVersion, kind }, "and the object has children of this kind");
              if (!retired) missing.set(key, failure);
              return undefined;
            }
            // The server of an aggregated API may be away for days. The other kinds have other servers.
            if (!(error instanceof ApiError) || error.code === 429) throw error;
            const message = `the API server does not say how it serves ${key}: ${error.message}. Repair what serves this kind: the object is reconciled again after a while.`;
            unknown.set(key, new ReconcileFailure("KindNotListed", message));
            return undefined;
          });
      }),
    );
    return new ServedKinds(
      found.filter((resource) => resource !== undefined),
      unknown,
      missing,
    );
  }

  /** {@link found}, if that is known of every kind. @throws ReconcileFailure `KindNotListed` if not */
  get all(): readonly Resource[] {
    for (const failure of this.unknown.values()) throw failure;
    return this.found;
  }

  /** Why no handler may be asked about an object that has children of these kinds, as `Completeness.whyNot` says it. */
  whyNot(event: HandlerEvent, kinds: readonly string[]): ReconcileFailure | undefined {
    return (event === "reconcile" ? failureIn(this.missing, kinds) : undefined) ?? this.whyUnknown(kinds);
  }

  /**
   * Why it is not known how one of these kinds is served. Undefined if that is known of all.
   * @param kinds as `kindKey` gives them
   */
  whyUnknown(kinds: readonly string[]): ReconcileFailure | undefined {
    return failureIn(this.unknown, kinds);
  }
}

/** The first failure of one of these kinds. */
function failureIn(
  failures: ReadonlyMap<string, ReconcileFailure>,
  kinds: readonly string[],
): ReconcileFailure | undefined {
  for (const [failed, failure] of failures)
    if (kinds.some((kind) => isSameKind(kind, failed))) return failure;
  return undefined;
}

/**
 * The operator with its kind as the API serves it: a definition knows neither plural nor scope of a kind that is not its
 * own, nor Kubernetes' own.
 * @throws UnknownKindError if the cluster does not serve the kind
 */
export async function withServedKind(operator: Operator, client: KubernetesClient): Promise<Operator> {
  const { customResource, watch } = operator;
  if (!watch) return operator;
  const apiVersion = apiVersionOf(customResource);
  const { plural, namespaced } = await findResource(client, apiVersion, customResource.kind);
  return { ...operator, customResource: { ...customResource, plural, namespaced } };
}
