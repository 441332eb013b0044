import path from "node:path";
import { loadOperators } from "../definition/loadOperators";
import { Problems } from "../definition/problems";
import { readYaml } from "../definition/readYaml";
import { resourceOf } from "../runtime/argo/runTarget";
import type { Operator } from "../runtime/definition/definition";
import { isRecord } from "../runtime/json/json";
import { isApiError } from "../runtime/kubernetes/errors";
import { apiVersionOf, type KubernetesObject, type Manifest } from "../runtime/kubernetes/objects";
import { CommandError } from "./commandError";
import { conclude, deployedAs, notServed, type PreviewCommandOptions, show } from "./diff";
import type { DryRunClient } from "./diff/dryRunClient";
import { checkHandles, operatorOf } from "./diff/liveObject";
import type { ObjectPreview } from "./diff/preview";
import { previewAll, withPreviews } from "./diff/session";
import { installedOperators } from "./inspect/installed";
import { withCluster } from "./inspect/session";
import { findHandlers } from "./project";

/** @see tryFile */
export interface TryOptions extends PreviewCommandOptions {
  /** The file with objects. */
  readonly file: string;
}

/**
 * `argosy try -f FILE`: what the handlers of this working tree would do for objects in a file. A live object is tried in the form
 * that is in the file, with its live children. Nothing is written.
 *
 * @returns the exit code: 3 if something would change, 1 if a handler fails or a child is refused
 * @throws OperatorError if the file cannot be understood; ApiError if the API server refuses an object
 */
export async function tryFile(options: TryOptions): Promise<number> {
  const manifests = readManifests(options.file);
  const operators = loadOperators(findHandlers(options));
  const pairs = manifests.map((manifest) => ({ manifest, operator: operatorOf(manifest, operators) }));
  return withCluster(options, async (client, connection) => {
    const installed = await installedOperators(client);
    const found: ObjectPreview[] = [];
    for (const { manifest, operator } of pairs) {
      const deployed = deployedAs(operator, installed, options);
      const how = { connection, ...(options.withSecrets && { withSecrets: true }) };
      await withPreviews(deployed, how, async (session) => {
        const { customResource } = session.operator;
        const { namespace = options.namespace ?? client.namespace } = manifest.metadata;
        const place = customResource.namespaced ? { namespace } : {};
        checkHandles(session.operator, place.namespace);
        const { namespace: _, ...metadata } = manifest.metadata;
        const object = await admitted(session.client.recording(), session.operator, {
          ...manifest,
          apiVersion: apiVersionOf(customResource),
          metadata: { ...metadata, ...place },
        });
        await previewAll(session, [object], (preview) => found.push(show(preview, options)));
      });
    }
    return conclude(found, options);
  });
}

/**
 * The object as the API server would store it: with defaults, and with the identity and the status of the live object.
 * @throws CommandError if the cluster does not serve the operator's kind
 */
async function admitted(
  client: DryRunClient,
  operator: Pick<Operator, "name" | "customResource">,
  manifest: Manifest,
): Promise<KubernetesObject> {
  const resource = resourceOf(operator.customResource);
  const live = await client.get(resource, manifest.metadata);
  if (!live)
    return client.create(resource, manifest, { fieldManager: "argosy-try" }).catch((error: unknown) => {
      // If a namespace is missing, the API server says so in a Status.
      if (isApiError(error, 404) && error.status.kind !== "Status")
        throw new CommandError(notServed(operator), { cause: error });
      throw error;
    });
  const { labels, annotations } = manifest.metadata;
  const metadata = { ...live.metadata, labels: labels ?? {}, annotations: annotations ?? {} };
  return client.replace(resource, { ...manifest, status: live["status"], metadata });
}

/** @throws OperatorError if the file cannot be read, or contains something else than objects */
function readManifests(file: string): Manifest[] {
  const problems = new Problems();
  const documents =
    readYaml(path.resolve(file), "Name a file with an object by -f.", problems, "exact") ?? [];
  const manifests = documents.flatMap(({ content, report }): Manifest[] => {
    const isObject =
      isRecord(content) &&
      typeof content.apiVersion === "string" &&
      typeof content.kind === "string" &&
      isRecord(content.metadata) &&
      typeof content.metadata.name === "string";
    if (isObject) return [content as unknown as Manifest];
    report("the document", "is not a Kubernetes object", "Give apiVersion, kind and metadata.name.");
    return [];
  });
  if (documents.length === 0 && !problems.found)
    problems.in(path.resolve(file))("the file", "contains no object", "Write one.");
  if (problems.found) throw problems.toError();
  return manifests;
}
