import { createRequire } from "node:module";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { peerDependencies } from "../package.json";
import { ARGOSY_VERSION, PACKAGE_NAME } from "./package";

const SDK = "@pulumi/kubernetes";
let warned = false;

/**
 * Warns once if the program has another copy of the Kubernetes SDK than this package, or a version that this package does not
 * accept. npm installs such copies if it is forced to, or if a package is linked.
 *
 * @param programFolder - the folder of the Pulumi program. Pulumi runs a program in its folder
 */
export function warnOfSdk(programFolder = process.cwd()): void {
  const ours = copyFor(__filename);
  const theirs = copyFor(path.join(programFolder, "index.js"));
  if (warned || !ours) return;
  const accepted = peerDependencies[SDK];
  const remedy = `Ask for ${SDK} ${accepted} in the program's package.json, and run: npm dedupe`;
  const complaint =
    theirs && theirs.folder !== ours.folder
      ? `There are two copies of ${SDK}. The program has ${theirs.version} in ${theirs.folder}. ${PACKAGE_NAME} has ` +
        `${ours.version} in ${ours.folder}. Pulumi may use two versions of the Kubernetes provider in one stack`
      : majorOf(ours.version) !== majorOf(accepted) &&
        `${PACKAGE_NAME} ${ARGOSY_VERSION} was not made for ${SDK} ${ours.version}, which is in ${ours.folder}`;
  if (!complaint) return;
  warned = true;
  void pulumi.log.warn(`${complaint}. ${remedy}`);
}

function majorOf(version: string): string | undefined {
  return /\d+/.exec(version)?.[0];
}

/** The copy of the Kubernetes SDK that a file gets. Undefined if the file gets none. */
function copyFor(file: string): { folder: string; version: string } | undefined {
  const require = createRequire(file);
  try {
    const manifest = require.resolve(`${SDK}/package.json`);
    return { folder: path.dirname(manifest), version: require(manifest).version };
  } catch {
    return undefined;
  }
}
