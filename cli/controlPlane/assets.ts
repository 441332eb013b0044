import type { Program } from "./programs";

/** A file that is published for download. */
export interface Asset {
  readonly url: string;
  /** The path of the program in the archive, if the file is one. */
  readonly member?: string;
  /**
   * The address of the file's SHA-256 from its publisher: a file with it, a list of several, or GitHub's description of a
   * release.
   */
  readonly checksum: string;
}

/**
 * The download of a program for a platform. Undefined if the program is not published for it. For other systems than Linux, the
 * Kubernetes project publishes only kubectl, and kwok's authors publish the rest.
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
    return releaseAsset("kubernetes-sigs/kwok", version, file);
  }
  if (name === "etcd") {
    const folder = `etcd-${version}-${platform}-${goArchitecture}`;
    const file = `${folder}.${platform === "linux" ? "tar.gz" : "zip"}`;
    const release = `https://github.com/etcd-io/etcd/releases/download/${version}`;
    return { url: `${release}/${file}`, member: `${folder}/etcd`, checksum: `${release}/SHA256SUMS` };
  }
  if (platform === "linux" || program.name === "kubectl") {
    const url = `https://dl.k8s.io/release/${version}/bin/${platform}/${goArchitecture}/${program.name}`;
    return { url, checksum: `${url}.sha256` };
  }
  return releaseAsset("kwok-ci/k8s", `${version}-kwok.0-${platform}-${goArchitecture}`, program.name);
}

/** A file of a release on GitHub. GitHub computes a digest of each file when it is uploaded. */
function releaseAsset(repository: string, tag: string, file: string): Asset {
  return {
    url: `https://github.com/${repository}/releases/download/${tag}/${file}`,
    checksum: `https://api.github.com/repos/${repository}/releases/tags/${tag}`,
  };
}
