import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import path from "node:path";
import { instructions } from "../../cli/dev/instructions";
import { writeFolder } from "./operatorFolder";

describe("the commands that argosy dev prints for another terminal", () => {
  let root: string;

  /** What a kubectl gets that tells its kubeconfig and its arguments, if a shell runs the commands. */
  function told(folder: string): string {
    root = writeFolder({ [`${folder}/kubectl`]: '#!/bin/sh\nprintf "%s\\n" "$KUBECONFIG" "$@"\n' });
    const at = (name: string) => path.join(root, folder, name);
    chmodSync(at("kubectl"), 0o755);
    const lines = instructions({
      kubeconfig: at("kubeconfig"),
      kubectl: at("kubectl"),
      examples: [at("cache.yaml")],
      events: [],
      metricsUrl: "http://127.0.0.1:1/metrics",
    });
    const typed = lines.filter((line) => !line.startsWith("curl"));
    const { stdout, stderr } = spawnSync("sh", { input: `${typed.join("\n")}\n`, encoding: "utf8" });
    assert.equal(stderr, "");
    return stdout.replaceAll(path.join(root, folder), "HERE");
  }

  for (const folder of ["shop", "My Projects", 'it\'s $HOME; `here` "now"'])
    it(`work in a folder with the name ${folder}`, () => {
      assert.equal(told(folder), "HERE/kubeconfig\napply\n-f\nHERE/cache.yaml\n");
    });

  it("quote nothing that needs no quotes, and set no kubeconfig for a user's own cluster", () => {
    root = writeFolder({});
    const own = {
      kubectl: "/c/kubectl",
      examples: ["/tmp/a.yaml"],
      events: ["curl --data {} http://127.0.0.1:1/events/cache/flush"],
      metricsUrl: "http://127.0.0.1:1/metrics",
    };
    const rest = ["kubectl apply -f /tmp/a.yaml", ...own.events, "curl http://127.0.0.1:1/metrics"];
    assert.deepEqual(instructions({ ...own, kubeconfig: undefined }), rest);
    assert.deepEqual(instructions({ ...own, kubeconfig: "/c/k.kubeconfig" }), [
      "export KUBECONFIG=/c/k.kubeconfig",
      "alias kubectl=/c/kubectl",
      ...rest,
    ]);
  });
});
