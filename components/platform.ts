import * as pulumi from "@pulumi/pulumi";
import { isRecord } from "../runtime/program";
import { ConfigurationError } from "./errors";
import { thisProgram, thisRun } from "./inCluster/thisRun";
import type { Platform, PlatformOptions } from "./manifests/platform/options";
import { ARGOSY_VERSION, PACKAGE_NAME } from "./package";

/** A component that has a platform: an `ArgoPlatform`, or `Operators` that created one. */
export interface PlatformComponent extends pulumi.ComponentResource {
  readonly platform: Platform;
}

/** What operators need to know of a platform that is made from these arguments. */
export function platformOf(args: PlatformOptions & Pick<Platform, "jetStreamVersion">): Platform {
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

/** The fields of a {@link Platform}. */
export const PLATFORM_FIELDS = {
  argosyVersion: { type: "string", isOptional: false },
  namespace: { type: "string", isOptional: false },
  argoEvents: { type: "boolean", isOptional: false },
  jetStreamVersion: { type: "string", isOptional: false },
  argoWorkflows: { type: "boolean", isOptional: false },
  instanceId: { type: "string", isOptional: false },
  initlessPods: { type: "boolean", isOptional: true },
  archivesRuns: { type: "boolean", isOptional: true },
  prometheusNamespace: { type: "string", isOptional: true },
} as const satisfies Record<keyof Platform, { readonly type: string; readonly isOptional: boolean }>;

/** Whether a value is an existing platform. Only an existing platform has a version, and arguments for a new one have none. */
export function isPlatform(value: unknown): value is Platform {
  return (
    isRecord(value) &&
    Object.entries(PLATFORM_FIELDS).every(
      ([field, { type, isOptional }]) =>
        typeof value[field] === type || (isOptional && value[field] === undefined),
    )
  );
}

/**
 * The platform that another stack has made: its output `platform`. It is awaited, and no Output, because names and
 * namespaces of everything derive from it and are checked before anything is registered.
 *
 * @param stack "organization/project/stack"
 * @throws ConfigurationError if that stack has not been deployed, has another output, or is this one
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
  const { platforms } = thisRun();
  const platform = platforms.get(stack) ?? readPlatform(stack);
  platforms.set(stack, platform);
  return platform;
}

async function readPlatform(stack: string): Promise<Platform> {
  // With its own platform, a stack would no longer create it: Pulumi would delete it.
  if ([pulumi.getStack(), thisProgram()].includes(stack))
    throw new ConfigurationError([`the stack ${stack} is this one. Name the stack that has the platform.`]);
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
