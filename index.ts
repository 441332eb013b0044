import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { checkArchiveInCluster } from "./components/archiveInCluster";
import { checkArgoInCluster } from "./components/argoInCluster";
import { ArgoPlatform } from "./components/argoPlatform";
import { operatorsArgs, platformArgs } from "./components/configuration/args";
import { readConfiguration } from "./components/configuration/readConfiguration";
import { checkMonitoringInCluster } from "./components/monitoringInCluster";
import { Operators } from "./components/operators";
import { platformOfStack } from "./components/platformStack";
import { showUserErrors } from "./components/userErrors";
import { loadOperators } from "./definition/loadOperators";

/** The operators of `handlers/` and what they stand on, as the stack's configuration has it: see Pulumi.yaml. */
export = showUserErrors(async () => {
  const project = pulumi.getProject();
  const settings = readConfiguration(project, pulumi.runtime.allConfig());
  if (settings.parts !== "operators") {
    await checkArgoInCluster(project, settings);
    await checkMonitoringInCluster(project, settings.monitoring);
    await checkArchiveInCluster(project, platformArgs(settings));
  }
  if (settings.parts === "platform") {
    const { platform } = new ArgoPlatform("argosy", platformArgs(settings));
    return { platform };
  }
  const { platform, customResources } = new Operators("argosy", {
    ...operatorsArgs(settings),
    definitions: loadOperators(path.join(__dirname, "handlers"), { installation: settings.installation }),
    platform:
      settings.parts === "all" ? platformArgs(settings) : await platformOfStack(settings.platformStack),
  });
  return { platform, customResources };
});
