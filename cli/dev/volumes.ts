import { valueAlong } from "../../runtime/base/json";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { builtIn, ifRefused, type KubernetesClient, Reflector } from "../../runtime/cli";
import { FIELD_MANAGER } from "../local/installOperator";

const CLASSES = builtIn("storage.k8s.io/v1", "StorageClass");
const CLAIMS = builtIn("v1", "PersistentVolumeClaim");
const VOLUMES = builtIn("v1", "PersistentVolume");

/** The provisioner of the default class. */
const PROVISIONER = "argosy.dev/simulated";

/** The class of a claim that names none. */
const DEFAULT_CLASS: Manifest = {
  apiVersion: CLASSES.apiVersion,
  kind: CLASSES.kind,
  metadata: { name: "standard", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
  provisioner: PROVISIONER,
  reclaimPolicy: "Delete",
  volumeBindingMode: "Immediate",
};

/**
 * Kubernetes' own controller asks for a volume by this annotation, with WaitForFirstConsumer only when the claim's pod has a node
 * (kubernetes, pkg/controller/volume/persistentvolume/pv_controller.go, provisionClaimOperationExternal).
 */
const WANTED = "volume.kubernetes.io/storage-provisioner";
/** Who made a volume, and so deletes it. The controller leaves volumes of provisioners outside itself alone. */
const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";

/** The pause before another try, in milliseconds. */
const AGAIN_MS = 1_000;

/**
 * Provides the volumes of an embedded control plane, as a provisioner does in a cluster: for each claim it makes a PersistentVolume,
 * which Kubernetes' own controller binds, and deletes it after the claim. Nothing is stored there, since no container runs. A claim
 * gets a volume whatever provisioner its class names, and even if there is no such class: the class may exist only in production.
 *
 * @param onNotice called if a volume cannot be made or deleted, which is tried again
 * @returns a function that ends it
 */
export async function provideVolumes(
  client: KubernetesClient,
  onNotice: (notice: string) => void,
): Promise<() => Promise<void>> {
  await client.apply(CLASSES, DEFAULT_CLASS, { fieldManager: FIELD_MANAGER, force: true });
  const watches = [
    watching(client, CLAIMS, (claim) => provide(client, claim), onNotice),
    watching(client, VOLUMES, (volume) => reclaim(client, volume), onNotice),
  ];
  return async () => {
    await Promise.all(watches.map((each) => each.stopWatching()));
  };
}

/** Does something with each object of a kind, whenever it has changed, until that succeeds. */
function watching(
  client: KubernetesClient,
  resource: Resource,
  act: (object: KubernetesObject) => Promise<void>,
  onNotice: (notice: string) => void,
): Reflector {
  const set = (object: KubernetesObject) => {
    act(object).catch((error: Error) => {
      onNotice(`volumes: ${error.message}`);
      setTimeout(() => void reflector.relist(), AGAIN_MS).unref();
    });
  };
  const sink = { listing: () => {}, listed: () => {}, remove: () => {}, set };
  const reflector = new Reflector({ client, resource, sink });
  reflector.startWatching();
  return reflector;
}

async function provide(client: KubernetesClient, claim: KubernetesObject): Promise<void> {
  const { name, namespace, uid = "", annotations = {}, deletionTimestamp } = claim.metadata;
  const storageClassName = valueAlong(claim, ["spec", "storageClassName"]);
  if (valueAlong(claim, ["spec", "volumeName"]) || !storageClassName || deletionTimestamp) return;
  const found = await client.get(CLASSES, { name: String(storageClassName) });
  if (found && annotations[WANTED] === undefined) return;
  const volume = {
    apiVersion: VOLUMES.apiVersion,
    kind: VOLUMES.kind,
    metadata: { name: `pvc-${uid}`, annotations: { [PROVISIONED_BY]: PROVISIONER } },
    spec: {
      storageClassName,
      accessModes: valueAlong(claim, ["spec", "accessModes"]),
      volumeMode: valueAlong(claim, ["spec", "volumeMode"]),
      capacity: { storage: valueAlong(claim, ["spec", "resources", "requests", "storage"]) },
      claimRef: { apiVersion: CLAIMS.apiVersion, kind: CLAIMS.kind, namespace, name, uid },
      persistentVolumeReclaimPolicy: found?.["reclaimPolicy"] ?? "Delete",
      hostPath: { path: `/simulated/pvc-${uid}` },
    },
  };
  // It exists if the claim was changed before it was bound.
  await client.create(VOLUMES, volume as unknown as Manifest).catch(ifRefused(409, undefined));
}

async function reclaim(client: KubernetesClient, volume: KubernetesObject): Promise<void> {
  const { name, annotations = {}, deletionTimestamp } = volume.metadata;
  const isOurs = annotations[PROVISIONED_BY] === PROVISIONER && deletionTimestamp === undefined;
  const isReleased = valueAlong(volume, ["status", "phase"]) === "Released";
  if (!isOurs || !isReleased) return;
  if (valueAlong(volume, ["spec", "persistentVolumeReclaimPolicy"]) !== "Delete") return;
  await client.delete(VOLUMES, { name });
}
