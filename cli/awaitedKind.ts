import { definitionFile } from "../definition/definitionFile";
import { displayPath } from "../definition/problems";
import type { Operator } from "../runtime/definition/definition";
import type { KubernetesClient } from "../runtime/kubernetes/client";
import { discover, UnknownKindError } from "../runtime/kubernetes/discovery";
import { apiVersionOf } from "../runtime/kubernetes/objects";
import { CommandError } from "./commandError";

/** The cluster does not serve the kind that an operator watches. The operator can be started as soon as it does. */
export class AwaitedKindError extends CommandError {
  override readonly name = "AwaitedKindError";
}

/**
 * Makes sure that the cluster serves the kind that an operator watches. The operator's own kind is installed together with the
 * operator.
 * @throws AwaitedKindError naming the operator and its definition; ApiError, ApiUnreachableError
 */
export async function watchedKindServed(
  client: KubernetesClient,
  { name, folder, watch, customResource }: Operator,
): Promise<void> {
  if (!watch) return;
  const apiVersion = apiVersionOf(customResource);
  try {
    await discover(client, apiVersion, customResource.kind);
  } catch (error) {
    if (!(error instanceof UnknownKindError)) throw error;
    throw new AwaitedKindError(
      `${displayPath(definitionFile(folder))}: watch names the kind ${customResource.kind} (${apiVersion}), which the ` +
        `cluster does not serve. Check the spelling, or install the software that provides that kind. ${name} is started as ` +
        `soon as the cluster serves the kind.`,
    );
  }
}
