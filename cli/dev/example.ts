import { writeFile } from "node:fs/promises";
import path from "node:path";
import { isRecord } from "../../runtime/base/json";
import type { JsonObject, Manifest } from "../../runtime/base/objects";
import { isApiError, type KubernetesClient, type Operator, resourceOf } from "../../runtime/cli";
import { manifestYaml } from "../common/yaml";
import { readFixtures } from "../fixtures/fixture";
import { knownObject } from "../fixtures/runFixtures";

/**
 * Writes an object to try the operator with, from its first fixture that neither the handler nor the API server refuses.
 *
 * @returns the file. Undefined if there is no such fixture
 */
export async function writeExample(
  operator: Operator,
  folder: string,
  client: KubernetesClient,
): Promise<string | undefined> {
  for (const { event, answer = {}, expect = {}, object } of readFixtures(operator.folder)) {
    if (event !== "reconcile" || "error" in answer || "error" in expect) continue;
    const example = exampleOf(object, operator);
    if (await isInvalid(example, operator, client)) continue;
    const file = path.join(folder, `${operator.name}.yaml`);
    await writeFile(file, manifestYaml(example));
    return file;
  }
  return undefined;
}

function exampleOf(fixture: JsonObject, operator: Operator): Manifest {
  const { apiVersion, kind, metadata, spec } = knownObject(fixture, operator).object;
  const { name, labels, annotations } = isRecord(metadata) ? metadata : {};
  // The fixture's namespace may not exist.
  const namespace = operator.namespaces === "all" ? undefined : operator.namespaces[0];
  const object = { apiVersion, kind, metadata: { name, namespace, labels, annotations }, spec };
  return JSON.parse(JSON.stringify(object));
}

/** A handler may be tested with a part of an object, such as a Deployment without its containers. */
async function isInvalid(
  example: Manifest,
  { customResource }: Operator,
  client: KubernetesClient,
): Promise<boolean> {
  const { namespace = "default" } = example.metadata;
  const metadata = { ...example.metadata, ...(customResource.namespaced && { namespace }) };
  return client.create(resourceOf(customResource), { ...example, metadata }, { dryRun: true }).then(
    () => false,
    (error) => isApiError(error, 422),
  );
}
