import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { foldersAbove } from "../definition/foldersAbove";
import { peerDependencies } from "../package.json";
import { isAtLeast } from "../preflight/isAtLeast";
import { ConfigurationError } from "./errors";
import { isNewWarning } from "./inCluster/thisRun";
import { ARGOSY_VERSION, PACKAGE_NAME } from "./package";

const SDK = "@pulumi/kubernetes";

/**
 * Refuses a Kubernetes SDK that is too old. Instead of failing, its provider takes over an object that exists already. After a
 * component was renamed, Pulumi would take over its CRDs, and then delete them as those of the former name.
 *
 * Warns once if the SDK is of another major version than this package accepts, or if the program has another copy of the SDK. npm
 * installs such copies if it is forced to, or if a package is linked.
 *
 * @param component the name of the component in errors: `Operators "shop"`
 * @param programFolder - the folder of the Pulumi program. Pulumi runs a program in its folder
 * @throws ConfigurationError if the SDK is too old
 */
export function checkSdk(component: string, programFolder = process.cwd()): void {
  const ours = copyFor(__filename);
  if (!ours) return;
  const accepted = peerDependencies[SDK];
  const remedy = `Ask for ${SDK} ${accepted} in the program's package.json, and run: npm dedupe`;
  const [oldest = accepted] = /\d[\w.-]*/.exec(accepted) ?? [];
  const us = `${PACKAGE_NAME} ${ARGOSY_VERSION}`;
  // A program in another language has no copy, though a folder above it may have one.
  const theirs = isNodeProgram(programFolder) ? copyFor(path.join(programFolder, "index.js")) : undefined;
  const placeOf = ({ version, folder }: Copy) => `${SDK} ${version}, which is in ${folder}`;
  // The program may give a component a provider of its own copy.
  const old = [ours, theirs].find((copy) => copy && !isAtLeast(copy.version, oldest));
  if (old) {
    const problem = `${us} needs ${SDK} ${oldest} or newer, because the provider of an older one may delete CRDs with all their objects. There is ${placeOf(old)}. ${remedy}.`;
    throw new ConfigurationError([`${component}: ${problem}`]);
  }
  const complaint =
    theirs && theirs.folder !== ours.folder
      ? `There are two copies of ${SDK}. The program has ${theirs.version} in ${theirs.folder}. ${PACKAGE_NAME} has ` +
        `${ours.version} in ${ours.folder}. Pulumi may use two versions of the Kubernetes provider in one stack`
      : majorOf(ours.version) !== majorOf(accepted) && `${us} was not made for ${placeOf(ours)}`;
  if (!complaint || !isNewWarning(SDK)) return;
  void pulumi.log.warn(`${complaint}. ${remedy}`);
}

/** Whether a program is a Node package. With `main` in Pulumi.yaml, its folder is one below the project's. */
function isNodeProgram(folder: string): boolean {
  const above = foldersAbove(folder);
  const project = above.findIndex((each) => existsSync(path.join(each, "Pulumi.yaml")));
  const own = above.slice(0, Math.max(1, project + 1));
  return own.some((each) => existsSync(path.join(each, "package.json")));
}

function majorOf(version: string): string | undefined {
  return /\d+/.exec(version)?.[0];
}

/** A copy of the Kubernetes SDK. */
interface Copy {
  readonly folder: string;
  readonly version: string;
}

/** The copy of the Kubernetes SDK that a file gets. Undefined if the file gets none. */
function copyFor(file: string): Copy | undefined {
  const require = createRequire(file);
  try {
    const manifest = require.resolve(`${SDK}/package.json`);
    return { folder: path.dirname(manifest), version: require(manifest).version };
  } catch {
    return undefined;
  }
}
