import { definitionFile } from "../../definition/definitionFile";
import { displayPath } from "../../definition/problems";
import { apiVersionOf } from "../../runtime/base/objects";
import { discover, type KubernetesClient, type Operator, UnknownKindError } from "../../runtime/cli";
import { CommandError } from "../common/commandError";

/** The cluster lacks what an operator needs, or has what is in its way. The operator can be started as soon as that has changed. */
export class ClusterNotReadyError extends CommandError {
  override readonly name = "ClusterNotReadyError";
}

/**
 * Makes sure that the cluster serves the kind that an operator watches. The operator's own kind is installed together with the
 * operator.
 * @throws ClusterNotReadyError naming the operator and its definition; ApiError, ApiUnreachableError
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
    throw new ClusterNotReadyError(
      `${displayPath(definitionFile(folder))}: watch names the kind ${customResource.kind} (${apiVersion}), which the ` +
        `cluster does not serve. Check the spelling, or install the software that provides that kind. ${name} is started as ` +
        `soon as the cluster serves the kind.`,
    );
  }
}
