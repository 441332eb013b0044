import path from "node:path";
import { loadOperators } from "../../definition/loadOperators";
import { Problems } from "../../definition/problems";
import { readYaml } from "../../definition/readYaml";
import { isRecord } from "../../runtime/base/json";
import { apiVersionOf, type KubernetesObject, type Manifest } from "../../runtime/base/objects";
import { isApiError, type Operator, resourceOf } from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import { command } from "../common/declaration";
import { requiredOption } from "../common/options";
import { findHandlers } from "../common/project";
import type { DryRunClient } from "../diff/dryRunClient";
import { checkHandles, operatorOf } from "../diff/liveObject";
import type { ObjectPreview } from "../diff/preview";
import { previewAll, withPreviews } from "../diff/session";
import { conclude, deployedAs, notServed, previewOptions, show } from "../diff/show";
import { installedOperators } from "../inspect/installed";
import { withCluster } from "../inspect/session";

/**
 * `argosy try -f FILE`: what the handlers of this working tree would do for objects in a file. A live object is tried in the form
 * that is in the file, with its live children. Nothing is written.
 *
 * @returns the exit code: 3 if something would change, 1 if a handler fails or a child is refused
 * @throws OperatorError if the file cannot be understood; ApiError if the API server refuses an object
 */
export default command({
  description:
    "Asks the handler of this folder about a new or changed object in a file, like argosy diff does about live objects. " +
    "Nothing is written. The exit code is 3 if something would change.",
  options: [requiredOption("-f, --file <file>", "a YAML file with the objects"), ...previewOptions()],
  async run(options) {
    const manifests = readManifests(options.file);
    const operators = loadOperators(findHandlers(options));
    const pairs = manifests.map((manifest) => ({ manifest, operator: operatorOf(manifest, operators) }));
    return withCluster(options, async (client, connection) => {
      const installed = await installedOperators(client);
      const found: ObjectPreview[] = [];
      for (const { manifest, operator } of pairs) {
        const deployed = deployedAs(operator, installed, options);
        const how = { connection, withSecrets: options.withSecrets, eventual: options.eventual };
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
  },
});

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
  const live = await client.get(resource, manifest.metadata).catch((error: unknown) => {
    if (isApiError(error, 404)) throw new CommandError(notServed(operator), { cause: error });
    throw error;
  });
  if (!live) return client.create(resource, manifest, { fieldManager: "argosy-try" });
  const { labels, annotations } = manifest.metadata;
  const metadata = { ...live.metadata, labels: labels ?? {}, annotations: annotations ?? {} };
  return client.replace(resource, { ...manifest, status: live["status"], metadata });
}

/** @throws OperatorError if the file cannot be read, or contains something else than objects */
function readManifests(file: string): Manifest[] {
  const problems = new Problems();
  const documents =
    readYaml(path.resolve(file), "Name a file with an object by -f.", problems, { integers: "exact" }) ?? [];
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
