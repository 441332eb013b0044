import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { version } from "../../plugin/package.json";
import { addFiles } from "../unit/operatorFolder";
import { copyProject } from "../unit/support/projectCopy";
import { packedProject } from "./packedPackage";

describe("plugin/install", function () {
  this.timeout(600_000);
  let copy: string;
  before(() => {
    copy = copyProject();
  });

  it("gives the Pulumi CLI a folder with the plugin and the unpublished package that it needs", async () => {
    const npm = execFileSync("which", ["npm"], { encoding: "utf8" }).trim();
    addFiles(copy, {
      // The package is packed already. Everything else is npm's own work.
      "bin/npm": `#!/usr/bin/env bash
if [ "$1 $PWD" = "pack $ROOT" ]; then cp "$PACKED" "\${@: -1}/package.tgz"; echo package.tgz; else exec "${npm}" "$@"; fi
`,
      "bin/pulumi": '#!/usr/bin/env bash\necho "$@"; cp -r . "$ROOT/installed"\n',
    });
    for (const name of ["npm", "pulumi"]) chmodSync(path.join(copy, "bin", name), 0o755);
    const env = {
      ...process.env,
      PATH: `${path.join(copy, "bin")}:${process.env.PATH}`,
      PACKED: await packedProject(),
      ROOT: copy,
    };
    const output = execFileSync(path.join(copy, "plugin/install"), { env, encoding: "utf8" });
    assert.match(
      output,
      new RegExp(`^plugin install resource argosy ${version} --file \\. --reinstall$`, "m"),
    );
    const installed = path.join(copy, "installed");
    const { dependencies } = JSON.parse(readFileSync(path.join(installed, "package.json"), "utf8"));
    assert.equal(dependencies["@argosy-dev/argosy"], "file:package.tgz");
    for (const file of ["package.tgz", "dist/index.js", "schema.json", "PulumiPlugin.yaml"])
      assert.ok(existsSync(path.join(installed, file)), file);
  });
});
