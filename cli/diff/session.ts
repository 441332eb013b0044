import { checkCommand } from "../../definition/commandOnPath";
import type { KubernetesObject } from "../../runtime/base/objects";
import { scopesOf } from "../../runtime/base/resource";
import {
  byName,
  type ClusterConnection,
  HandlerPool,
  isApiError,
  isWatchedBy,
  labelSelectorOf,
  resourceOf,
  ServedKinds,
  withServedKind,
} from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import { progress } from "../common/terminal";
import { handlerEnvironment } from "../handler/handlerEnvironment";
import { localHandler } from "../handler/localHandler";
import type { DeployedOperator } from "./deployed";
import { DryRunClient } from "./dryRunClient";
import { type ObjectPreview, Previews } from "./preview";
import { secretsOfEnvironment } from "./secretsOfEnvironment";

/** The options of a session of previews. */
export interface SessionOptions {
  readonly connection: ClusterConnection;
  readonly withSecrets?: boolean | undefined;
  /** @see PreviewOptions.eventual */
  readonly eventual?: boolean | undefined;
}

/** An operator of the working tree, ready to be asked about objects. */
export interface PreviewSession extends DeployedOperator {
  readonly client: DryRunClient;
  readonly previews: Previews;
}

/** How many objects are previewed at the same time. */
const AT_ONCE = 8;
/** How often the progress is printed, in milliseconds. */
const PROGRESS_MS = 2_000;

/**
 * Starts an operator's handler for the duration of `action`, with a client that writes nothing.
 * @throws OperatorError if its program or a variable is not on this machine; UnknownKindError
 */
export async function withPreviews<Result>(
  { operator: given, home, usedSecrets, notes }: DeployedOperator,
  { connection, withSecrets, eventual }: SessionOptions,
  action: (session: PreviewSession) => Promise<Result>,
): Promise<Result> {
  checkCommand(given);
  const environment = handlerEnvironment(given);
  const transport = localHandler(given, environment);
  const { handler, timeoutSeconds } = given;
  const isFunction = "function" in handler;
  const pool = new HandlerPool({ transport, isFunction, timeoutMs: timeoutSeconds * 1000 });
  const client = new DryRunClient(connection);
  try {
    const operator = await withServedKind(given, client);
    const { all: childResources } = await ServedKinds.of(operator, client);
    const resource = resourceOf(operator.customResource);
    const options = {
      operator,
      resource,
      childResources,
      client,
      pool,
      home,
      usedSecrets,
      withSecrets,
      eventual,
    };
    const unread: string[] = [];
    const secrets = await secretsOfEnvironment(client, given, home, (name) => unread.push(name));
    const previews = new Previews({ ...options, secrets, isUnread: unread.length > 0 });
    return await action({ operator, home, notes, client, previews });
  } finally {
    await pool.close();
    client.close();
  }
}

/**
 * Every live object of an operator, by namespace and name.
 * @param only this namespace
 * @returns undefined if the cluster does not serve the kind
 * @throws CommandError, ApiError if the account may not list them
 */
export async function liveObjects(
  { operator, home, client }: PreviewSession,
  only?: string,
): Promise<KubernetesObject[] | undefined> {
  const resource = resourceOf(operator.customResource);
  const labelSelector = operator.watch && labelSelectorOf(operator.watch);
  const found: KubernetesObject[] = [];
  const isChosen = (namespace: string | undefined) =>
    only === undefined || namespace === undefined || namespace === only;
  for (const namespace of scopesOf(operator.namespaces, resource).filter(isChosen)) {
    const scope = namespace ?? (resource.namespaced ? only : undefined);
    const selection = {
      ...(scope !== undefined && { namespace: scope }),
      ...(labelSelector !== undefined && { labelSelector }),
    };
    try {
      found.push(...(await client.listAll(resource, selection)));
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      if (isApiError(error, 403) && scope === undefined && resource.namespaced)
        throw new CommandError(`${error.message}. Name one namespace with --namespace.`, { cause: error });
      throw error;
    }
  }
  return found.filter(isWatchedBy(operator, home)).sort(byName);
}

/**
 * Previews of several objects, some at once, handed over in their order.
 * @param onPreview called with each preview, as soon as all previews before it are done
 */
export async function previewAll(
  { operator, previews }: PreviewSession,
  objects: readonly KubernetesObject[],
  onPreview: (preview: ObjectPreview) => void,
): Promise<void> {
  const children = await previews.children(objects);
  for (const note of children.notes) progress(`${operator.name}: ${note}`);
  const ready = new Map<number, ObjectPreview>();
  let [next, told] = [0, 0];
  let saidAt = performance.now();
  const work = async () => {
    while (next < objects.length) {
      const index = next++;
      ready.set(index, await previews.of(objects[index] as KubernetesObject, children));
      for (let preview = ready.get(told); preview; preview = ready.get(told)) {
        ready.delete(told);
        told += 1;
        onPreview(preview);
      }
      if (performance.now() - saidAt < PROGRESS_MS) continue;
      saidAt = performance.now();
      progress(`${operator.name}: ${told} of ${objects.length} objects`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
