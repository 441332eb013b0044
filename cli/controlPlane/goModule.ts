import type { Release } from "./programs";
import { kubernetesStagingVersion, minimumGoVersion } from "./versions";

/** Name of the module in which programs are built. No user sees it. */
export const moduleName = "argosy.dev/controlplane";

/**
 * The go.mod of a module of our own that requires a release. `go install` refuses modules that replace others, as
 * Kubernetes does with its staging folders; here these become the published modules of the same code.
 *
 * @param releasedModule the text of the release's own go.mod
 */
export function moduleFile(release: Release, releasedModule: string): string {
  const goVersion = /^go (\S+)$/m.exec(releasedModule)?.[1] ?? minimumGoVersion;
  const staging = [...releasedModule.matchAll(/^\s*(?:replace\s+)?(\S+) => \.\/staging\/\S+$/gm)];
  const lines = [
    `module ${moduleName}`,
    `go ${goVersion}`,
    `require ${release.module} ${release.version}`,
    ...staging.map(([, path]) => `replace ${path} => ${path} ${kubernetesStagingVersion}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** The linker's options: no debugging tables, and Kubernetes' version, which its module does not contain. */
export function linkerFlags(release: Release): string {
  const small = "-s -w";
  if (release.name !== "kubernetes") return small;
  const [major, minor] = release.version.slice(1).split(".");
  const values = { gitVersion: release.version, gitMajor: major, gitMinor: minor };
  const settings = Object.entries(values).map(
    ([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`,
  );
  return [small, ...settings].join(" ");
}
