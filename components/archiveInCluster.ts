import { ConfigurationError } from "./configuration/configurationError";
import { isSecretThere } from "./lookInCluster";
import type { PlatformOptions } from "./manifests/platform/options";

/**
 * Looks into the cluster, before anything is registered, whether the Secret of the archive is there: without it the
 * Workflow controller and argo-server do not start, and Pulumi would wait for them for ten minutes. Where the cluster
 * cannot be asked it goes on.
 * @param project - the project's name, the prefix of its keys
 * @throws ConfigurationError naming key and remedy
 */
export async function checkArchiveInCluster(
  project: string,
  { archive, controllerNamespace }: Pick<PlatformOptions, "archive" | "controllerNamespace">,
): Promise<void> {
  if (!archive || (await isSecretThere(controllerNamespace, archive.secret)) !== false) return;
  throw new ConfigurationError([
    `${project}:archive names the Secret "${archive.secret}", which is not in ${controllerNamespace}. Create it there, with the keys username and password. Where there is no such namespace yet, deploy without the archive first.`,
  ]);
}
