import type { ArgoPlatformArgs } from "../argoPlatform";
import type { ArchiveOptions } from "../manifests/platform/archive";
import { JETSTREAM_VERSION } from "../manifests/platform/argoEvents";
import type { PodPlacement } from "../manifests/pods";
import type { OperatorsArgs } from "../operators";
import type { Settings } from "./settings";

/** What a configuration says of the platform. */
export function platformArgs(settings: Settings): ArgoPlatformArgs {
  const { namespace, controllerNamespace, createNamespaces, instanceId, protect } = settings;
  const { argoEvents, argoWorkflows, jetStreamVersion, archive } = settings;
  return {
    namespace,
    controllerNamespace,
    createNamespaces,
    instanceId,
    argoEvents,
    argoWorkflows,
    jetStreamVersion: jetStreamVersion || JETSTREAM_VERSION,
    ...(isGiven(archive) && { archive }),
    monitoring: settings.monitoring,
    placement: placementOf(settings),
    protect,
  };
}

/** What it says of the operators, whichever they are and whatever they stand on. */
export function operatorsArgs(settings: Settings): Omit<OperatorsArgs, "definitions" | "platform"> {
  const { name, eventBusReplicas, eventBusStorage, eventBusStorageClass, runnerReplicas, protect } = settings;
  const { runsKeptSeconds, failedRunsKeptSeconds, monitoring } = settings;
  return {
    eventPathName: name,
    eventBus: {
      replicas: eventBusReplicas,
      ...(eventBusStorage !== "" && { storage: eventBusStorage }),
      ...(eventBusStorageClass !== "" && { storageClass: eventBusStorageClass }),
    },
    placement: placementOf(settings),
    replicas: runnerReplicas,
    runsKeptSeconds,
    failedRunsKeptSeconds,
    ...(monitoring.namespace !== undefined && { prometheusNamespace: monitoring.namespace }),
    protect,
  };
}

function isGiven(archive: Settings["archive"]): archive is ArchiveOptions {
  return "host" in archive;
}

function placementOf({ registry, imagePullSecrets, nodeSelector, tolerations }: Settings): PodPlacement {
  return { ...(registry !== "" && { registry }), imagePullSecrets, nodeSelector, tolerations };
}
