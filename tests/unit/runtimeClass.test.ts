import assert from "node:assert/strict";
import type { PodSpec } from "../../components/manifests/kinds";
import { buildRunner } from "../../components/manifests/operator/runner";
import { buildWorkflowTemplate } from "../../components/manifests/operator/workflows";
import type { Operator } from "../../runtime/operator/definition";
import { operatorOptions, withFiles } from "./operatorManifests";
import { run } from "./support/program";
import { operatorsProgram, sampleProgram } from "./support/sampleOperators";

describe("the RuntimeClass of handlers", () => {
  const build = (more: Partial<Operator>, runtimeClassName?: string) => {
    const options = operatorOptions(runtimeClassName === undefined ? {} : { runtimeClassName });
    const { operator, files } = withFiles(more, undefined, options);
    const runner = buildRunner(operator, options, files).spec.template.spec as PodSpec;
    const { podSpecPatch } = buildWorkflowTemplate(operator, options, files)["spec"] as {
      podSpecPatch?: string;
    };
    return { runner: runner.runtimeClassName, run: JSON.parse(podSpecPatch ?? "{}").runtimeClassName };
  };

  it("is that of a resident runner's pod, which has the handler, and of no run", () => {
    assert.deepEqual(build({}, "gvisor"), { runner: "gvisor", run: undefined });
  });

  it("is that of the pods of runs, and not of the runner, if these have the handler", () => {
    assert.deepEqual(build({ execution: "pod" }, "gvisor"), { runner: undefined, run: "gvisor" });
  });

  it("is refused if it cannot be the name of one", async () => {
    const sample = sampleProgram([{ name: "gear" }]);
    const refused = (runtimeClassName: string) =>
      assert.rejects(
        run(operatorsProgram(sample, { runtimeClassName })),
        /runtimeClassName is .*, not a DNS subdomain\. kubectl get runtimeclass shows them\.|runtimeClassName is empty/,
      );
    for (const name of ["gVisor", "-a", "a..b", `${"a".repeat(254)}`, ""]) await refused(name);
    await run(operatorsProgram(sample, { runtimeClassName: "kata.qemu-2" }));
  });
});
