import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";

const ROOT = path.resolve(__dirname, "../..");

describe("benchmark in a cluster: a step of the tutorial", () => {
  const memcached = {
    apiVersion: "cache.example.com/v1alpha1",
    kind: "Memcached",
    metadata: { name: "quoted", namespace: "benchmark", uid: "u-1" },
    spec: { size: 2 },
  };
  const run = (step: string, event = "ADD") =>
    execFileSync("python3", ["tools/bench/inCluster/tutorial.py", step, event, JSON.stringify(memcached)], {
      cwd: ROOT,
      env: { ...process.env, HANDLER: "examples/memcached/main.py" },
      encoding: "utf8",
    });

  for (const kind of ["Deployment", "Service"]) {
    it(`asks the operator's own handler for the ${kind}`, () => {
      const child = JSON.parse(run(kind.toLowerCase()));
      assert.equal(child.kind, kind);
      assert.equal(child.metadata.ownerReferences[0].uid, "u-1");
    });
  }

  it("does nothing for an object that is deleted", () => {
    assert.equal(run("deployment", "DELETE"), "nothing to do: its children are deleted with it\n");
  });
});
