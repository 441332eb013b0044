import assert from "node:assert/strict";
import { checkSdk } from "../../components/kubernetesSdk";
import { removeFolder, writeFolder } from "./operatorFolder";

describe("the Kubernetes SDK of a program", () => {
  const sdk = { "node_modules/@pulumi/kubernetes/package.json": '{ "version": "4.20.0" }' };

  /** Checks a program in a folder with these files. */
  function check(files: Record<string, string>): void {
    const folder = writeFolder(files);
    try {
      checkSdk('Operators "ops"', folder);
    } finally {
      removeFolder(folder);
    }
  }

  it("is refused if it is too old, since the program may give a component a provider of it", () => {
    assert.throws(
      () => check({ ...sdk, "package.json": "{}" }),
      /^ConfigurationError: Operators "ops": .* needs @pulumi\/kubernetes 4\.34\.0 or newer, .*There is @pulumi\/kubernetes 4\.20\.0/,
    );
  });

  it("is not looked at for a program in another language", () => {
    check(sdk);
  });
});
