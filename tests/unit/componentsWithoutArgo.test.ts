import assert from "node:assert/strict";
import type * as pulumi from "@pulumi/pulumi";
import type { OperatorsArgs } from "../../components/arguments/arguments";
import { Operators } from "../../components/operators";
import { kinds, named, refused } from "./support/componentRuns";
import { assertEach } from "./support/lists";
import { type Run, run } from "./support/program";
import { EVERY_FORM, sampleProgram } from "./support/sampleOperators";

describe("the components without a half of Argo", function () {
  this.timeout(60_000);
  const gears = sampleProgram([{ name: "gear" }]);
  const everyForm = sampleProgram(EVERY_FORM);

  const operators = (args: Partial<OperatorsArgs> = {}, opts: pulumi.ComponentResourceOptions = {}) =>
    new Operators("shop", { handlers: gears.definitions, ...args }, opts);

  const argoKinds = (made: Run) => [
    ...new Set(
      made.manifests.filter(({ apiVersion }) => apiVersion.startsWith("argoproj.io")).map(({ kind }) => kind),
    ),
  ];
  const runner = (made: Run) => JSON.stringify(named(made, "shop-gear-runner").inputs);

  it("Events has no bus, source, sensor, controller and hints", async () => {
    const made = await run(() => void operators({ platform: { argoEvents: "none" } }));
    assert.deepEqual(argoKinds(made), ["WorkflowTemplate"]);
    assert.ok(!kinds(made).some((each) => /events|eventsources|sensor|keeper/i.test(each)));
    assert.ok(!kinds(made).includes("Service gear-runner"));
    assert.match(runner(made), /"ARGOSY_WITHOUT","value":"events"/);
    const policy = made.manifests.find(({ kind }) => kind === "NetworkPolicy");
    assert.ok(policy && !JSON.stringify(policy).includes("8080"));
  });

  it("Workflows has no template, right, controller and UI", async () => {
    const made = await run(() => void operators({ platform: { argoWorkflows: "none" } }));
    assert.deepEqual(argoKinds(made).sort(), ["EventBus", "EventSource", "Sensor"]);
    assert.ok(!kinds(made).some((each) => /workflow|argo-server|viewer|submitter/i.test(each)));
    assert.match(runner(made), /"ARGOSY_WITHOUT","value":"workflows"/);
    assert.ok(!JSON.stringify(made.manifests.filter(({ kind }) => /Role$/.test(kind))).includes("workflows"));
  });

  it("without both is one pod for each operator", async () => {
    const none = { argoEvents: "none", argoWorkflows: "none" } as const;
    const made = await run(() => void operators({ platform: none }));
    const workloads = made.manifests.filter(({ kind }) => kind === "Deployment");
    assertEach(workloads, ({ metadata }) => metadata.name, ["gear-runner"]);
    assert.ok(
      !JSON.stringify(made.manifests.filter(({ metadata }) => !/engine/.test(metadata.name))).includes(
        "argoproj.io",
      ),
    );
    assert.match(runner(made), /"ARGOSY_WITHOUT","value":"events,workflows"/);
  });

  it("with both is as it was: no word of it", async () => {
    assert.ok(!runner(await run(() => void operators())).includes("ARGOSY_WITHOUT"));
  });

  it("Workflows has no form pod, and says what to do", () =>
    refused(
      () => operators({ handlers: everyForm.definitions, platform: { argoWorkflows: "none" } }),
      /the operator press has execution "pod", which needs Argo Workflows, and the platform has none\. Set its execution.*\n.*the operator saw has/,
    ));
});
