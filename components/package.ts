import { createRequire } from "node:module";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { name, version } from "../package.json";

/** What npm knows this package by. */
export const PACKAGE_NAME = name;

/** The version of this package. */
export const ARGOSY_VERSION = version;

const PROVIDER = "@pulumi/kubernetes";
let warned = false;

/**
 * Warns once where the program has another copy of the Kubernetes SDK than this package. npm installs a second copy where
 * the versions that both ask for have none in common, or where the package is linked.
 *
 * @param programFolder - the folder of the Pulumi program. Pulumi runs a program in its folder
 */
export function warnOfSecondCopy(programFolder = process.cwd()): void {
  const ours = copyFor(__filename);
  const theirs = copyFor(path.join(programFolder, "index.js"));
  if (warned || !ours || !theirs || ours.folder === theirs.folder) return;
  warned = true;
  void pulumi.log.warn(
    `There are two copies of ${PROVIDER}. The program has ${theirs.version} in ${theirs.folder}. ${PACKAGE_NAME} has ` +
      `${ours.version} in ${ours.folder}. Pulumi may use two versions of the Kubernetes provider in one stack. Ask for a ` +
      `version of ${PROVIDER} in the program's package.json that ${PACKAGE_NAME} accepts, and run: npm dedupe`,
  );
}

/** The copy of the Kubernetes SDK that a file gets. Undefined where the file gets none. */
function copyFor(file: string): { folder: string; version: string } | undefined {
  const require = createRequire(file);
  try {
    const manifest = require.resolve(`${PROVIDER}/package.json`);
    return { folder: path.dirname(manifest), version: require(manifest).version };
  } catch {
    return undefined;
  }
}
