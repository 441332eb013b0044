import type { ArgoPlatformArgs, OperatorsArgs } from "@argosy-dev/argosy";
import * as pulumi from "@pulumi/pulumi";
import { checkArchiveInCluster } from "../components/archiveInCluster";
import { checkArgoInCluster } from "../components/argoInCluster";
import { operatorsArgs, platformArgs } from "../components/configuration/args";
import { readConfiguration } from "../components/configuration/readConfiguration";
import { checkMonitoringInCluster } from "../components/monitoringInCluster";
import { platformOfStack } from "../components/platformStack";

/** What a stack of this program is made of. */
export type Stack =
  | { readonly parts: "platform"; readonly platform: ArgoPlatformArgs }
  | {
      readonly parts: "operators";
      readonly operators: Omit<OperatorsArgs, "definitions">;
      /** Tells these operators from those of other programs in the same cluster. */
      readonly installation: string;
    };

/**
 * Reads the stack's configuration, and checks what of it a cluster can tell.
 * @throws ConfigurationError
 */
export async function readStack(): Promise<Stack> {
  const project = pulumi.getProject();
  const settings = readConfiguration(project, pulumi.runtime.allConfig());
  const { parts, installation, platformStack } = settings;
  const platform = platformArgs(settings);
  if (parts !== "operators") {
    await checkArgoInCluster(project, settings);
    await checkMonitoringInCluster(project, settings.monitoring);
    await checkArchiveInCluster(project, platform);
  }
  if (parts === "platform") return { parts, platform };
  const ground = parts === "all" ? platform : await platformOfStack(platformStack);
  return { parts: "operators", installation, operators: { ...operatorsArgs(settings), platform: ground } };
}
