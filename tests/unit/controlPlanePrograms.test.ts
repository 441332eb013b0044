import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { assetOf } from "../../cli/controlPlane/assets";
import { cacheDirectory, programPaths } from "../../cli/controlPlane/cache";
import { linkerFlags, moduleFile } from "../../cli/controlPlane/goModule";
import { type ProgramName, programNames, programs } from "../../cli/controlPlane/programs";
import { isAtLeast } from "../../preflight/isAtLeast";
import { PACKAGE_FOLDER } from "../../tools/packageFolder";

function program(name: ProgramName) {
  const found = programs.find((each) => each.name === name);
  assert.ok(found);
  return found;
}

describe("the control plane's programs", () => {
  describe("cache", () => {
    it("follows ARGOSY_CACHE, then XDG_CACHE_HOME, then the platform", () => {
      for (const [variables, platform, folder] of [
        [{ ARGOSY_CACHE: "/own", XDG_CACHE_HOME: "/xdg" }, "linux", "/own"],
        [{ XDG_CACHE_HOME: "/xdg" }, "darwin", "/xdg/argosy"],
        [{}, "linux", "/home/me/.cache/argosy"],
        [{}, "darwin", "/home/me/Library/Caches/argosy"],
      ] as const)
        assert.equal(
          cacheDirectory(variables, platform, () => "/home/me"),
          folder,
        );
    });

    it("is an absolute path: of a relative one, ARGOSY_CACHE is below this folder, and XDG_CACHE_HOME does not count", () => {
      assert.equal(cacheDirectory({ ARGOSY_CACHE: "own" }), path.resolve("own"));
      const home = () => "/home/me";
      assert.equal(cacheDirectory({ XDG_CACHE_HOME: "xdg" }, "linux", home), "/home/me/.cache/argosy");
    });

    it("needs no home folder if it is named", () => {
      assert.equal(cacheDirectory({ ARGOSY_CACHE: "/own" }, "linux", assert.fail), "/own");
    });

    it("has a place of its own for every program, named by its version", () => {
      const paths = programPaths("/cache");
      assert.equal(new Set(Object.values(paths)).size, programNames.length);
      for (const { name, release } of programs)
        assert.ok(paths[name].includes(`${release.name}-${release.version}`));
    });
  });

  describe("downloads", () => {
    const etcd = "https://github.com/etcd-io/etcd/releases/download/v3.6.6";
    const kubernetes = "https://dl.k8s.io/release/v1.34.1/bin";
    const kwok = "https://github.com/kubernetes-sigs/kwok/releases/download/v0.8.0";
    const digestsOfKwok = "https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags/v0.8.0";
    const built = "https://github.com/kwok-ci/k8s/releases/download/v1.34.1-kwok.0-darwin-arm64";
    for (const [name, platform, architecture, url, checksum] of [
      ["kwokctl", "linux", "arm64", `${kwok}/kwokctl-linux-arm64`, digestsOfKwok],
      ["kube-apiserver", "linux", "x64", `${kubernetes}/linux/amd64/kube-apiserver`],
      ["etcd", "linux", "x64", `${etcd}/etcd-v3.6.6-linux-amd64.tar.gz`, `${etcd}/SHA256SUMS`],
      // On macOS, only kubectl is official.
      ["kubectl", "darwin", "arm64", `${kubernetes}/darwin/arm64/kubectl`],
      ["kube-scheduler", "darwin", "arm64", `${built}/kube-scheduler`],
      [
        "kubectl",
        "linux",
        "x64",
        `${kubernetes}/linux/amd64/kubectl`,
        `${kubernetes}/linux/amd64/kubectl.sha256`,
      ],
    ] as const)
      it(`come with their checksum from ${url}`, () => {
        const asset = assetOf(program(name), platform, architecture);
        assert.equal(asset?.url, url);
        if (checksum) assert.equal(asset?.checksum, checksum);
        assert.equal(asset?.member, name === "etcd" ? "etcd-v3.6.6-linux-amd64/etcd" : undefined);
      });

    it("have a checksum that their publisher tells, over https", () => {
      for (const platform of ["linux", "darwin"] as const) {
        for (const each of programs) {
          const { url, checksum } = assetOf(each, platform, "arm64") ?? assert.fail(each.name);
          assert.match(checksum, /^https:\/\//);
          assert.notEqual(checksum, url);
        }
      }
    });

    it("do not exist for other platforms", () => {
      assert.equal(assetOf(program("kwok"), "win32", "x64"), undefined);
      assert.equal(assetOf(program("kwok"), "linux", "riscv64"), undefined);
    });
  });

  describe("builds", () => {
    it("require the release and repeat its staging replaces, and no other, as published modules", () => {
      const released = [
        "module k8s.io/kubernetes",
        "go 1.24.0",
        "replace (",
        "\tk8s.io/api => ./staging/src/k8s.io/api",
        "\texample.org/fork => example.org/other v1.2.3",
        ")",
        "replace k8s.io/client-go => ./staging/src/k8s.io/client-go",
      ].join("\n");
      assert.deepEqual(moduleFile(program("kubectl").release, released).trimEnd().split("\n").slice(1), [
        "go 1.24.0",
        "require k8s.io/kubernetes v1.34.1",
        "replace k8s.io/api => k8s.io/api v0.34.1",
        "replace k8s.io/client-go => k8s.io/client-go v0.34.1",
      ]);
    });

    it("tell Kubernetes its version, which kubectl and the API server print", () => {
      const flags = linkerFlags(program("kubectl").release);
      assert.ok(flags.includes("version.gitVersion=v1.34.1"));
      assert.ok(flags.includes("version.gitMinor=34"));
      assert.ok(!linkerFlags(program("etcd").release).includes("version"));
    });

    it("ask for a Go that is new enough, release candidates and minor versions of two digits included", () => {
      assert.ok(isAtLeast("1.26", "1.26"));
      assert.ok(isAtLeast("1.26rc1", "1.26"));
      assert.ok(isAtLeast("2.0.1", "1.26"));
      assert.ok(!isAtLeast("1.25.9", "1.26"));
      assert.ok(!isAtLeast("1.3", "1.26"));
      assert.ok(!isAtLeast("devel", "1.26"));
    });
  });

  describe("are those of the Kubernetes that ARGOSY_KUBERNETES_VERSION names", () => {
    function versionsWith(value: string) {
      const script =
        'const { kubernetesVersion, kubernetesStagingVersion } = require("./cli/controlPlane/versions.ts");' +
        "console.log(kubernetesVersion, kubernetesStagingVersion)";
      const { stdout, stderr } = spawnSync(process.execPath, ["--require", "tsx/cjs", "--eval", script], {
        cwd: PACKAGE_FOLDER,
        env: { ...process.env, ARGOSY_KUBERNETES_VERSION: value },
        encoding: "utf8",
      });
      return { stdout, stderr };
    }

    it("or of the usual one where it is empty, as in a matrix without a value for it", () => {
      assert.equal(versionsWith("v1.37.2").stdout, "v1.37.2 v0.37.2\n");
      assert.equal(versionsWith("").stdout, "v1.34.1 v0.34.1\n");
    });

    it("and of none where that is no version", () => {
      for (const value of ["1.37", "v2.0.0", "v1.37.2/../x"])
        assert.match(
          versionsWith(value).stderr,
          /ARGOSY_KUBERNETES_VERSION is ".*"\. Give a version of Kubernetes, for example v1\.34\.1\./,
        );
    });
  });
});
