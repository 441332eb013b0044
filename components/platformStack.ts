import * as pulumi from "@pulumi/pulumi";
import { isRecord } from "../runtime/program";
import { ConfigurationError } from "./configuration/configurationError";
import type { Platform } from "./manifests/platform/options";

/**
 * The platform that another stack has made: its output `platform`. Awaited, not an Output, because names and
 * namespaces of everything derive from it and are checked before anything is registered.
 *
 * @param stack - "organization/project/stack"
 * @throws ConfigurationError where that stack has not been deployed, or gives something else
 */
export async function platformOfStack(stack: string): Promise<Platform> {
  const { value } = await new pulumi.StackReference(stack).getOutputDetails("platform");
  if (isPlatform(value)) return value;
  throw new ConfigurationError([
    `platformStack: the stack ${stack} has no output "platform" with namespace, instanceId and jetStreamVersion. ` +
      'Deploy it first, from this program with parts: "platform".',
  ]);
}

function isPlatform(value: unknown): value is Platform {
  return (
    isRecord(value) &&
    typeof value.namespace === "string" &&
    typeof value.instanceId === "string" &&
    typeof value.jetStreamVersion === "string" &&
    ["boolean", "undefined"].includes(typeof value.archivesRuns)
  );
}
