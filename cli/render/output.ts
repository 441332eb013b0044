import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { stringify } from "yaml";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { CommandError } from "../commandError";

/** The first line of each file that we write, by which we know it again. */
const MARK = "# Rendered by Argosy (npm run render). Changes made here are lost.";

/** Manifests as one YAML stream. */
export function formatStream(manifests: readonly Manifest[]): string {
  return manifests.map((manifest) => `---\n${formatManifest(manifest)}`).join("");
}

/**
 * One manifest as YAML: every value written out, long texts readable. kubectl reads YAML 1.1, where a bare `yes` is
 * true: whatever either version takes for something else than a text is quoted.
 */
export function formatManifest(manifest: Manifest): string {
  return stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false, compat: "yaml-1.1" });
}

/**
 * Writes one file for each manifest into a folder, and removes what an earlier run wrote there and this one did not.
 * @returns names of the files that are new, changed and removed
 * @throws CommandError if a file of somebody else is in the way; nothing is written then
 */
export function writeFolder(
  folder: string,
  manifests: readonly Manifest[],
): { written: string[]; removed: string[] } {
  const files = new Map(
    manifests.map((manifest) => [fileNameOf(manifest), `${MARK}\n${formatManifest(manifest)}`]),
  );
  if (existsSync(folder) && !statSync(folder).isDirectory()) throw inTheWay(folder);
  mkdirSync(folder, { recursive: true });
  const stale = readdirSync(folder).filter((name) => name.endsWith(".yaml") && !files.has(name));
  const removed = stale.filter((name) => isOurs(path.join(folder, name)));
  const written = [...files].filter(([name, content]) => differs(path.join(folder, name), content));
  for (const name of removed) rmSync(path.join(folder, name));
  for (const [name, content] of written) writeFileSync(path.join(folder, name), content);
  return { written: written.map(([name]) => name), removed };
}

/**
 * "deployment.apps_argosy_memcached-runner.yaml"; of cluster scope and Kubernetes' own: "namespace_argosy.yaml". One
 * for each object: neither a kind nor a namespace has a "_".
 */
export function fileNameOf({ apiVersion, kind, metadata: { namespace, name } }: Manifest): string {
  const [group, version] = apiVersion.split("/");
  const type = version === undefined ? kind : `${kind}.${group}`;
  return `${[type.toLowerCase(), namespace, name].filter((part) => part !== undefined).join("_")}.yaml`;
}

function differs(file: string, content: string): boolean {
  if (!existsSync(file)) return true;
  if (!isOurs(file)) throw inTheWay(file);
  return readFileSync(file, "utf8") !== content;
}

function inTheWay(file: string): CommandError {
  return new CommandError(`${file} is in the way: it was not rendered by Argosy.`);
}

function isOurs(file: string): boolean {
  return statSync(file).isFile() && readFileSync(file, "utf8").startsWith(`${MARK}\n`);
}
