import { writeFile } from "node:fs/promises";
import path from "node:path";
import { isRecord } from "../../runtime/base/json";
import type { Operator } from "../../runtime/cli";
import { manifestYaml } from "../common/yaml";
import { readFixtures } from "../fixtures/fixture";
import { knownObject } from "../fixtures/runFixtures";

/**
 * Writes an object to try the operator with, from its first fixture that the handler does not refuse.
 *
 * @returns the file. Undefined if there is no such fixture
 */
export async function writeExample(operator: Operator, folder: string): Promise<string | undefined> {
  const fixture = readFixtures(operator.folder).find(
    ({ event, answer = {}, expect = {} }) =>
      event === "reconcile" && !("error" in answer || "error" in expect),
  );
  if (!fixture) return undefined;
  const { apiVersion, kind, metadata, spec } = knownObject(fixture.object, operator).object;
  const { name, labels, annotations } = isRecord(metadata) ? metadata : {};
  // The fixture's namespace may not exist.
  const namespace = operator.namespaces === "all" ? undefined : operator.namespaces[0];
  const object = { apiVersion, kind, metadata: { name, namespace, labels, annotations }, spec };
  const file = path.join(folder, `${operator.name}.yaml`);
  await writeFile(file, manifestYaml(JSON.parse(JSON.stringify(object))));
  return file;
}
