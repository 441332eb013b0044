import type { Operator } from "../../definition/definition";
import { ReconcileFailure } from "../../failure";
import type { KubernetesClient } from "../../kubernetes/client";
import { discover, findResource, UnknownKindError } from "../../kubernetes/discovery";
import { isApiError } from "../../kubernetes/errors";
import type { Resource } from "../../kubernetes/resource";
import type { Outcome } from "../../reconcile/outcome";

/** The kinds of the children that the cluster serves. If a handler answers a child of another kind, its object reports that. */
export async function servedKinds(operator: Operator, client: KubernetesClient): Promise<Resource[]> {
  const found = await Promise.all(
    operator.children.map(({ apiVersion, kind }) =>
      findResource(client, apiVersion, kind).catch((error: Error) => {
        if (error instanceof UnknownKindError) return undefined;
        throw error;
      }),
    ),
  );
  return found.filter((resource) => resource !== undefined);
}

/**
 * The outcome of a reconcile, with another failure if a child was refused because the cluster does not serve its kind. Only a
 * refusal leads to this look.
 * @throws ApiError, ApiUnreachableError if the cluster cannot be asked
 */
export async function sayMissingKind(
  outcome: Outcome,
  operator: Operator,
  client: KubernetesClient,
): Promise<Outcome> {
  const { failure } = outcome.report;
  if (failure?.reason !== "ChildRefused" || !isApiError(failure.cause, 404)) return outcome;
  for (const child of operator.children) {
    const isMissing = await discover(client, child.apiVersion, child.kind).then(
      () => false,
      (error: Error) => error instanceof UnknownKindError,
    );
    if (!isMissing) continue;
    const message = `the cluster serves no kind ${child.kind} (${child.apiVersion}), but the handler answered a child of this kind. Install the software that provides the kind: the object is reconciled again at the next resync.`;
    const missing = new ReconcileFailure("KindMissing", message);
    return {
      ...outcome,
      report: { ...outcome.report, failure: missing },
      verdict: { kind: "failed", failure: missing },
    };
  }
  return outcome;
}
