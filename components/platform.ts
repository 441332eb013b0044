import * as pulumi from "@pulumi/pulumi";
import { isRecord } from "../runtime/program";
import type { CompletePlatformArgs } from "./completeArguments";
import { ConfigurationError } from "./errors";
import type { Platform } from "./manifests/platform/options";
import { ARGOSY_VERSION, PACKAGE_NAME } from "./package";
import { onceForEachRun } from "./thisRun";

/** What operators need to know of a platform that is made from these arguments. */
export function platformOf(args: CompletePlatformArgs): Platform {
  const { namespace, argoEvents, argoWorkflows, instanceId, initlessPods, jetStreamVersion } = args;
  const { archive, monitoring } = args;
  return {
    argosyVersion: ARGOSY_VERSION,
    namespace,
    argoEvents: argoEvents !== "none",
    jetStreamVersion,
    argoWorkflows: argoWorkflows !== "none",
    instanceId: argoWorkflows === "none" ? "" : instanceId,
    ...(initlessPods && { initlessPods }),
    ...(archive && { archivesRuns: true }),
    ...(monitoring?.namespace !== undefined && { prometheusNamespace: monitoring.namespace }),
  };
}

/** The type of each field of a {@link Platform}; those of the second list may be missing. */
const FIELDS = {
  argosyVersion: "string",
  namespace: "string",
  argoEvents: "boolean",
  jetStreamVersion: "string",
  argoWorkflows: "boolean",
  instanceId: "string",
} as const satisfies Partial<Record<keyof Platform, string>>;
const OPTIONAL_FIELDS = {
  initlessPods: "boolean",
  archivesRuns: "boolean",
  prometheusNamespace: "string",
} as const;

/** Whether a value is an existing platform. Only an existing platform has a version, and arguments for a new one have none. */
export function isPlatform(value: unknown): value is Platform {
  return (
    isRecord(value) &&
    Object.entries(FIELDS).every(([field, type]) => typeof value[field] === type) &&
    Object.entries(OPTIONAL_FIELDS).every(([field, type]) =>
      ["undefined", type].includes(typeof value[field]),
    )
  );
}

/**
 * The platform that another stack has made: its output `platform`. It is awaited, and no Output, because names and
 * namespaces of everything derive from it and are checked before anything is registered.
 *
 * @param stack "organization/project/stack"
 * @throws ConfigurationError if that stack has not been deployed, or has another output
 *
 * @example
 * ```ts
 * import { Operators, platformOfStack } from "@argosy-dev/argosy";
 *
 * module.exports = async () => {
 *   const platform = await platformOfStack("acme/platform/prod");
 *   const { crdNames } = new Operators("shop", { handlers: "./handlers", installation: "shop", platform });
 *   return { crdNames };
 * };
 * ```
 */
export function platformOfStack(stack: string): Promise<Platform> {
  const known = platforms();
  const platform = known.get(stack) ?? readPlatform(stack);
  known.set(stack, platform);
  return platform;
}

/** The platforms of other stacks. In a run a stack is read once: a second resource of its name fails. */
const platforms = onceForEachRun("platforms", () => new Map<string, Promise<Platform>>());

async function readPlatform(stack: string): Promise<Platform> {
  const details = await referenceTo(stack).getOutputDetails("platform");
  // A stack may keep all its outputs secret. None of these facts is one.
  const value: unknown = details.value ?? details.secretValue;
  if (isPlatform(value)) return value;
  const version =
    isRecord(value) && typeof value.argosyVersion === "string" ? value.argosyVersion : undefined;
  throw new ConfigurationError([
    version !== undefined && version !== ARGOSY_VERSION
      ? `the stack ${stack}: ${differenceOf(version, ARGOSY_VERSION)}`
      : `the stack ${stack} has no output "platform" that is a platform. Deploy that stack first. Its program must give ` +
        "the field `platform` of its ArgoPlatform, or of its Operators, as the output of that name.",
  ]);
}

/** Under a name of our own: the program may read other outputs of that stack by a StackReference too. */
function referenceTo(stack: string): pulumi.StackReference {
  return new pulumi.StackReference(`${stack}-argosy-platform`, { name: stack });
}

/** A note if a platform was made by another version of Argosy. Undefined if it is the same version. */
export function versionDifference(argosyVersion: string): string | undefined {
  return argosyVersion === ARGOSY_VERSION ? undefined : differenceOf(argosyVersion, ARGOSY_VERSION);
}

function differenceOf(argosyVersion: string, ours: string): string {
  const isOlder = compareVersions(argosyVersion, ours) < 0;
  const remedy = isOlder
    ? `Update ${PACKAGE_NAME} to ${ours} in the platform's program and deploy that first.`
    : `Update ${PACKAGE_NAME} to ${argosyVersion} in this program.`;
  return `the platform was deployed by Argosy ${argosyVersion}, which is ${isOlder ? "older" : "newer"} than this program's ${ours}. ${remedy}`;
}

/** Below 0 if the first version is the older one. A pre-release is older than its release. */
function compareVersions(one: string, other: string): number {
  const [first, second] = [one, other].map((each) => {
    const [release = "", preRelease] = each.split("-", 2);
    return { numbers: release.split(".").map(Number), preRelease };
  });
  for (let index = 0; index < 3; index++) {
    const difference = (first?.numbers[index] ?? 0) - (second?.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (first?.preRelease === second?.preRelease) return 0;
  if (first?.preRelease === undefined) return 1;
  return second?.preRelease === undefined || first.preRelease < second.preRelease ? -1 : 1;
}
