import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import type { Manifest } from "../../runtime/base/objects";
import { CommandError } from "../common/commandError";
import { haveSameLines } from "../common/lineEnds";
import { rewriteFile } from "../common/rewriteFile";
import { manifestYaml } from "../common/yaml";

/** The first line of each file that we write, which identifies the file later. */
const MARK = "# Rendered by Argosy (npm run render). Changes made here are lost.";

/** Manifests as one YAML stream. */
export function formatStream(manifests: readonly Manifest[]): string {
  return manifests.map((manifest) => `---\n${manifestYaml(manifest)}`).join("");
}

/**
 * Writes one file for each manifest into a folder, and removes files that an earlier run wrote and this run did not.
 * @returns the names of the written and the removed files
 * @throws CommandError if a file that no run wrote is in the way. Nothing is written in that case
 */
export function writeFolder(
  folder: string,
  manifests: readonly Manifest[],
): { written: string[]; removed: string[] } {
  const files = new Map(
    manifests.map((manifest) => [fileNameOf(manifest), `${MARK}\n${manifestYaml(manifest)}`]),
  );
  if (existsSync(folder) && !statSync(folder).isDirectory()) throw inTheWay(folder);
  mkdirSync(folder, { recursive: true });
  const stale = readdirSync(folder).filter((name) => name.endsWith(".yaml") && !files.has(name));
  const removed = stale.filter((name) => isOurs(path.join(folder, name)));
  const written = [...files].filter(([name, content]) => differs(path.join(folder, name), content));
  for (const name of removed) rmSync(path.join(folder, name));
  for (const [name, content] of written) rewriteFile(path.join(folder, name), content);
  return { written: written.map(([name]) => name), removed };
}

/**
 * "deployment.apps_argosy_memcached-runner.yaml"; or "namespace_argosy.yaml" for a cluster-scoped object of Kubernetes' own. The
 * name is unique, because neither a kind nor a namespace contains "_".
 */
export function fileNameOf({ apiVersion, kind, metadata: { namespace, name } }: Manifest): string {
  const [group, version] = apiVersion.split("/");
  const type = version === undefined ? kind : `${kind}.${group}`;
  return `${[type.toLowerCase(), namespace, name].filter((part) => part !== undefined).join("_")}.yaml`;
}

function differs(file: string, content: string): boolean {
  if (!existsSync(file)) return true;
  if (!isOurs(file)) throw inTheWay(file);
  return !haveSameLines(readFileSync(file, "utf8"), content);
}

function inTheWay(file: string): CommandError {
  return new CommandError(
    `Argosy did not write ${file}, so it does not replace ${file}. Move ${file}, or name another folder with --out.`,
  );
}

function isOurs(file: string): boolean {
  return statSync(file).isFile() && /^.*/.exec(readFileSync(file, "utf8"))?.[0] === MARK;
}
