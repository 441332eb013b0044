import type { Program } from "./programs";

/** A file that is published for download. */
export interface Asset {
  readonly url: string;
  /** Path of the program in it, if it is an archive. */
  readonly member?: string;
}

/**
 * Where a program can be downloaded for a platform; undefined where nobody publishes it. Outside Linux the Kubernetes
 * project publishes kubectl alone: kwok's authors publish the rest.
 */
export function assetOf(
  program: Program,
  platform: NodeJS.Platform = process.platform,
  architecture: string = process.arch,
): Asset | undefined {
  const goArchitecture = { x64: "amd64", arm64: "arm64" }[architecture];
  if (goArchitecture === undefined || (platform !== "linux" && platform !== "darwin")) return undefined;
  const { name, version } = program.release;
  if (name === "kwok") {
    const file = `${program.name}-${platform}-${goArchitecture}`;
    return { url: `https://github.com/kubernetes-sigs/kwok/releases/download/${version}/${file}` };
  }
  if (name === "etcd") {
    const folder = `etcd-${version}-${platform}-${goArchitecture}`;
    const file = `${folder}.${platform === "linux" ? "tar.gz" : "zip"}`;
    const url = `https://github.com/etcd-io/etcd/releases/download/${version}/${file}`;
    return { url, member: `${folder}/etcd` };
  }
  if (platform === "linux" || program.name === "kubectl") {
    return { url: `https://dl.k8s.io/release/${version}/bin/${platform}/${goArchitecture}/${program.name}` };
  }
  const tag = `${version}-kwok.0-${platform}-${goArchitecture}`;
  return { url: `https://github.com/kwok-ci/k8s/releases/download/${tag}/${program.name}` };
}
