import { type Operator, POD_LAYOUT } from "../../../runtime/program";
import { filesImageOf } from "../images";
import type { Volume, VolumeMount } from "../kinds";
import { READ_ONLY } from "../pods";
import type { OperatorFiles } from "./configMaps";
import type { OperatorOptions } from "./options";

/** The two forms of an operator's pod: see `execution` of a definition. */
export type PodForm = "resident" | "pod";

/** The mode of the author's files. A ConfigMap keeps no modes, and any file may be the one that is run. */
const EXECUTABLE = 0o555;
/**
 * How long a token of the engine holds, in seconds. The engine reads its token again when the kubelet has renewed it. It is not
 * 3607, as of a token that Kubernetes mounts by itself. For 3607 the API server issues a token for a year, for clients that read
 * their token only once (kubernetes, pkg/registry/core/serviceaccount/storage/token.go).
 */
const TOKEN_SECONDS = 3600;

/**
 * The volumes of an operator's pod that its containers mount.
 * @param hasHandlerShell whether a container puts a shell there for the handler's
 */
export function buildVolumes(
  operator: Operator,
  options: OperatorOptions,
  files: OperatorFiles,
  form: PodForm,
  hasHandlerShell: boolean,
): Volume[] {
  return [
    ...engineVolumes(files),
    handlerVolume(files, filesImageOf(operator, options)),
    // Named pipes take no room. The volume is for a few small files, in memory since nothing here may outlive the pod.
    { name: "pipes", emptyDir: { medium: "Memory", sizeLimit: "4Mi" } },
    ...(hasHandlerShell ? [{ name: "handler-shell", emptyDir: { sizeLimit: "8Mi" } }] : []),
    { name: "handler-tmp", emptyDir: {} },
    ...(form === "resident" ? [TOKEN_VOLUME] : []),
    ...tokenVolumes(operator, form),
  ];
}

/** The volumes of the pod of a runner without a handler. */
export function dispatcherVolumes(files: OperatorFiles): Volume[] {
  return [...engineVolumes(files), TOKEN_VOLUME];
}

/** The volumes that every command of the engine needs. */
function engineVolumes({ engine, definition }: OperatorFiles): Volume[] {
  return [
    { name: "engine", configMap: { name: engine.metadata.name, defaultMode: READ_ONLY } },
    { name: "definition", configMap: { name: definition.metadata.name, defaultMode: READ_ONLY } },
    { name: "runner-tmp", emptyDir: { sizeLimit: "64Mi" } },
  ];
}

/** The mounts of every container with the engine. */
export const ENGINE_MOUNTS: readonly VolumeMount[] = [
  { name: "engine", mountPath: POD_LAYOUT.engine, readOnly: true },
  { name: "definition", mountPath: POD_LAYOUT.definition, readOnly: true },
  { name: "runner-tmp", mountPath: "/tmp" },
];

/** The runner's mounts. In a pod of its own its token is mounted by Kubernetes. */
export function runnerMounts(operator: Operator, form: PodForm): VolumeMount[] {
  const token = { name: TOKEN_VOLUME.name, mountPath: POD_LAYOUT.serviceAccount, readOnly: true };
  if (form === "resident" && operator.execution === "pod") return [...ENGINE_MOUNTS, token];
  return [
    ...ENGINE_MOUNTS,
    { name: "pipes", mountPath: POD_LAYOUT.pipes },
    ...(form === "resident" ? [token] : []),
    ...(hasToken(operator) ? [{ name: "handler-token", mountPath: POD_LAYOUT.handlerToken }] : []),
  ];
}

/** The handler's mounts. The runner's token is never among them. */
export function handlerMounts(operator: Operator, form: PodForm, hasHandlerShell: boolean): VolumeMount[] {
  return [
    { name: "engine", mountPath: POD_LAYOUT.engine, readOnly: true },
    { name: "handler", mountPath: POD_LAYOUT.handler, readOnly: true },
    ...(hasHandlerShell
      ? [{ name: "handler-shell", mountPath: POD_LAYOUT.handlerShell, readOnly: true }]
      : []),
    { name: "pipes", mountPath: POD_LAYOUT.pipes },
    { name: "handler-tmp", mountPath: "/tmp" },
    ...tokenMounts(operator, form),
  ];
}

/** The mount of every container but the runner in the place where Kubernetes' clients look for a token. */
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

/** The volume that Kubernetes would mount by itself, but into every container. */
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

/**
 * The volume for the place of the token: the handler's own token, or else an empty one over the token that Kubernetes mounts by
 * itself.
 */
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
    // Without items, every key is a file of that name.
    const isPlain = first.items.every(({ key, path }) => key === path);
    return { name, configMap: isPlain ? source : { ...source, items: first.items } };
  }
  const sources = handler.map(({ manifest, items }) => ({
    configMap: { name: manifest.metadata.name, items },
  }));
  return { name, projected: { defaultMode: EXECUTABLE, sources } };
}
