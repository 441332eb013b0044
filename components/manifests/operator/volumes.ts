import { type Operator, POD_LAYOUT } from "../../../runtime/program";
import { filesImageOf } from "../images";
import type { Volume, VolumeMount } from "../kinds";
import { READ_ONLY } from "../pods";
import type { OperatorFiles } from "./configMaps";
import type { OperatorOptions } from "./options";

/** The two forms of an operator's pod: see `execution` of a definition. */
export type PodForm = "resident" | "pod";

/** A ConfigMap keeps no modes, and any of the author's files may be the one that is run. */
const EXECUTABLE = 0o555;
/**
 * The engine reads its token again when the kubelet has renewed it. Not the 3607 of a token that Kubernetes mounts by
 * itself: that very number makes the API server issue one for a year, for clients that read it but once
 * (kubernetes, pkg/registry/core/serviceaccount/storage/token.go).
 */
const TOKEN_SECONDS = 3600;

/**
 * The volumes of an operator's pod that its containers mount.
 * @param hasKit whether a container puts a shell there for the handler's
 */
export function buildVolumes(
  operator: Operator,
  options: OperatorOptions,
  files: OperatorFiles,
  form: PodForm,
  hasKit: boolean,
): Volume[] {
  return [
    ...engineVolumes(files),
    handlerVolume(files, filesImageOf(operator, options)),
    // Named pipes take no room: this is for a few small files, in memory since nothing here shall outlive the pod.
    { name: "pipes", emptyDir: { medium: "Memory", sizeLimit: "4Mi" } },
    ...(hasKit ? [{ name: "kit", emptyDir: { sizeLimit: "8Mi" } }] : []),
    { name: "handler-tmp", emptyDir: {} },
    ...(form === "resident" ? [TOKEN_VOLUME] : []),
    ...tokenVolumes(operator, form),
  ];
}

/** The volumes that the engine needs, whatever it is to do. */
export function engineVolumes({ engine, definition }: OperatorFiles): Volume[] {
  return [
    { name: "engine", configMap: { name: engine.metadata.name, defaultMode: READ_ONLY } },
    { name: "definition", configMap: { name: definition.metadata.name, defaultMode: READ_ONLY } },
    { name: "runner-tmp", emptyDir: { sizeLimit: "64Mi" } },
  ];
}

/** What is mounted wherever the engine runs. */
export const ENGINE_MOUNTS: readonly VolumeMount[] = [
  { name: "engine", mountPath: POD_LAYOUT.engine, readOnly: true },
  { name: "definition", mountPath: POD_LAYOUT.definition, readOnly: true },
  { name: "runner-tmp", mountPath: "/tmp" },
];

/** What the runner mounts. In a pod of its own its token is mounted by Kubernetes. */
export function runnerMounts(operator: Operator, form: PodForm): VolumeMount[] {
  return [
    ...ENGINE_MOUNTS,
    { name: "pipes", mountPath: POD_LAYOUT.pipes },
    ...(form === "resident"
      ? [{ name: TOKEN_VOLUME.name, mountPath: POD_LAYOUT.serviceAccount, readOnly: true }]
      : []),
    ...(hasToken(operator) ? [{ name: "handler-token", mountPath: POD_LAYOUT.handlerToken }] : []),
  ];
}

/** What the handler mounts: never the runner's token. */
export function handlerMounts(operator: Operator, form: PodForm, hasKit: boolean): VolumeMount[] {
  return [
    { name: "engine", mountPath: POD_LAYOUT.engine, readOnly: true },
    { name: "handler", mountPath: POD_LAYOUT.handler, readOnly: true },
    ...(hasKit ? [{ name: "kit", mountPath: POD_LAYOUT.kit, readOnly: true }] : []),
    { name: "pipes", mountPath: POD_LAYOUT.pipes },
    { name: "handler-tmp", mountPath: "/tmp" },
    ...tokenMounts(operator, form),
  ];
}

/** What every container but the runner mounts where Kubernetes' clients look for a token. */
export function tokenMounts(operator: Operator, form: PodForm): VolumeMount[] {
  return tokenVolumes(operator, form).map(({ name }) => ({
    name,
    mountPath: POD_LAYOUT.serviceAccount,
    readOnly: true,
  }));
}

/** Whether the handler has a token of its own, which the runner fetches for it. */
export function hasToken({ rules }: Operator): boolean {
  return rules.length > 0;
}

/** What Kubernetes would mount by itself, if it did not mount it in every container. */
const TOKEN_VOLUME = {
  name: "runner-token",
  projected: {
    defaultMode: READ_ONLY,
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: TOKEN_SECONDS } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
    ],
  },
} as const satisfies Volume;

/** For the place of the token: one of the handler's own, else nothing at all over what Kubernetes mounts by itself. */
function tokenVolumes(operator: Operator, form: PodForm): Volume[] {
  if (hasToken(operator))
    return [{ name: "handler-token", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }];
  return form === "pod" ? [{ name: "no-token", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }] : [];
}

/**
 * The author's files: a ConfigMap, several of them in one volume, or an image of theirs.
 */
function handlerVolume({ handler }: OperatorFiles, image: string | undefined): Volume {
  const name = "handler";
  if (image !== undefined) return { name, image: { reference: image, pullPolicy: "IfNotPresent" } };
  const [first, ...others] = handler;
  if (first && others.length === 0) {
    const source = { name: first.manifest.metadata.name, defaultMode: EXECUTABLE };
    // Without items every key is the file of its name.
    const isPlain = first.items.every(({ key, path }) => key === path);
    return { name, configMap: isPlain ? source : { ...source, items: first.items } };
  }
  const sources = handler.map(({ manifest, items }) => ({
    configMap: { name: manifest.metadata.name, items },
  }));
  return { name, projected: { defaultMode: EXECUTABLE, sources } };
}
