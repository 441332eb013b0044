import assert from "node:assert/strict";
import path from "node:path";
import { checkSdk } from "../../components/kubernetesSdk";
import { peerDependencies } from "../../package.json";
import { writeFolder } from "./operatorFolder";

describe("the Kubernetes SDK of a program", () => {
  const sdk = { "node_modules/@pulumi/kubernetes/package.json": '{ "version": "4.20.0" }' };

  /** Checks a program in a folder with these files, or in a folder below. */
  function check(files: Record<string, string>, below = "."): void {
    const folder = writeFolder(files);
    checkSdk('Operators "ops"', path.join(folder, below));
  }

  it("has an oldest version, which the range of the package begins with: the check reads it there", () => {
    assert.match(peerDependencies["@pulumi/kubernetes"], /^\^\d+\.\d+\.\d+$/);
  });

  it("is refused if it is too old, since the program may give a component a provider of it", () => {
    assert.throws(
      () => check({ ...sdk, "package.json": "{}" }),
      /^ConfigurationError: Operators "ops": .* needs @pulumi\/kubernetes 4\.34\.0 or newer, .*There is @pulumi\/kubernetes 4\.20\.0/,
    );
  });

  it("is refused if it is too old and main in Pulumi.yaml names a file in a folder below", () => {
    const files = { ...sdk, "package.json": "{}", "Pulumi.yaml": "main: src/", "src/index.ts": "" };
    assert.throws(() => check(files, "src"), /There is @pulumi\/kubernetes 4\.20\.0/);
  });

  it("is not looked at for a program in another language, though a folder above it is a Node package", () => {
    check(sdk);
    check({ ...sdk, "package.json": "{}", "python/Pulumi.yaml": "runtime: python" }, "python");
    check({ ...sdk, "package.json": "{}", "inline/__main__.py": "" }, "inline");
  });
});
