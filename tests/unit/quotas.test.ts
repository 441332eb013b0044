import assert from "node:assert/strict";
import type { OperatorsArgs } from "../../components/arguments/arguments";
import { runsAtOnce } from "../../components/manifests/operator/quota";
import type { Manifest } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
import { operatorOptions } from "./operatorManifests";
import { assertNone } from "./support/lists";
import { operator } from "./support/objects";
import { run } from "./support/program";
import { EVERY_FORM, operatorsProgram, sampleProgram } from "./support/sampleOperators";
import { titleOf } from "./support/titles";

/** What a run asks for by default: executor, shell, engine and handler. */
const ONE_RUN = { cpu: 10 + 50 + 50 + 50, memory: 64 + 24 + 64 + 64 };

describe("quotas", function () {
  this.timeout(120_000);
  const sample = sampleProgram(EVERY_FORM);
  const made = async (args: Partial<OperatorsArgs>): Promise<readonly Manifest[]> =>
    (await run(operatorsProgram(sample, args))).manifests;
  const find = (manifests: readonly Manifest[], kind: string, name: string) =>
    manifests.find((each) => each.kind === kind && each.metadata.name === name);
  const templateOf = (manifests: readonly Manifest[], name: string) =>
    find(manifests, "WorkflowTemplate", name)?.["spec"] as { podPriorityClassName?: string };

  it("limit the runs of one operator, by a priority class of their own", async () => {
    const manifests = await made({ quotas: { press: { pods: 5, requests: { cpu: "2" } } } });
    assert.deepEqual(find(manifests, "ResourceQuota", "press-run-limit")?.["spec"], {
      hard: { pods: "5", "requests.cpu": "2" },
      scopeSelector: {
        matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["argosy.press-runs"] }],
      },
    });
    assert.equal(find(manifests, "PriorityClass", "argosy.press-runs")?.["value"], 0);
    assert.equal(templateOf(manifests, "press").podPriorityClassName, "argosy.press-runs");
    assert.equal(templateOf(manifests, "saw").podPriorityClassName, undefined);
    assert.equal(manifests.filter(({ kind }) => /PriorityClass|ResourceQuota/.test(kind)).length, 2);
    assert.deepEqual(find(manifests, "ConfigMap", "press-run-limit")?.["data"], { pods: "5" });
    assert.deepEqual(find(manifests, "ConfigMap", "saw-run-limit")?.["data"], { pods: "32" });
  });

  it("limit the runs of a priority class that is chosen, and make none", async () => {
    const pods = { operators: { press: { priorityClassName: "heavy" } } };
    const manifests = await made({ pods, quotas: { press: { pods: 2 } } });
    assert.equal(templateOf(manifests, "press").podPriorityClassName, "heavy");
    assertNone(manifests, ({ kind }) => kind === "PriorityClass");
    const spec = find(manifests, "ResourceQuota", "press-run-limit")?.["spec"] as
      | { scopeSelector: { matchExpressions: { values: string[] }[] } }
      | undefined;
    assert.deepEqual(spec?.scopeSelector.matchExpressions[0]?.values, ["heavy"]);
  });

  describe("let as many runs begin as have room", () => {
    const atOnce = (quota: object, more: Partial<Operator> = {}) =>
      runsAtOnce(operator({ execution: "pod", concurrency: 32, ...more }), {
        ...operatorOptions(),
        quotas: { shop: quota },
      });
    const cases: [what: string, quota: object, most: number, more?: Partial<Operator>][] = [
      ["no more than the operator lets", { pods: 100 }, 32],
      ["by their number", { pods: 3 }, 3],
      ["by their processor, exactly", { requests: { cpu: `${3 * ONE_RUN.cpu}m` } }, 3],
      ["by their processor, nearly", { requests: { cpu: `${3 * ONE_RUN.cpu - 1}m` } }, 2],
      ["by their memory", { requests: { memory: `${4 * ONE_RUN.memory}Mi` } }, 4],
      ["by the scarcer of two", { pods: 9, requests: { memory: `${4 * ONE_RUN.memory}Mi` } }, 4],
      [
        "by what the handler asks for",
        { requests: { cpu: "4" } },
        3,
        { resources: { requests: { cpu: "1" } } },
      ],
      [
        "by its limit, which is its request if it has none",
        { requests: { cpu: "4" } },
        3,
        { resources: { limits: { cpu: "1" } } },
      ],
    ];
    for (const [what, quota, most, more] of cases) {
      it(what, () => assert.equal(atOnce(quota, more), most));
    }
  });

  describe("are refused with a remedy", () => {
    const wrong: [quotas: object, complaint: RegExp][] = [
      [{ drill: { pods: 1 } }, /quotas\.drill is unknown\. There are gear, press/],
      [
        { gear: { pods: 1 } },
        /quotas\.gear is given, and the execution of the operator is not "pod"\. Give resources and replicas/,
      ],
      [
        { press: { requests: { cpu: "100m" } } },
        /requests\.cpu is "100m", which is less than the 160m of a single run\. Raise/,
      ],
      [{ press: { limits: { memory: "4GB" } } }, /limits\.memory is "4GB", which is not a quantity/],
      [
        { press: { limits: { cpu: "8" } } },
        /limits\.cpu is given, but these containers of a run have no limits of cpu: argoExecutor, runHandlerShell, run, handler\. Give/,
      ],
      [{ press: { pods: 0 } }, /quotas\.press\.pods is 0, outside of 1 to/],
      [{ press: { cpu: "1" } }, /quotas\.press\.cpu is not a known field/],
      [{ press: "2" }, /quotas\.press must be an object, not the string "2"\. Give any of/],
    ];
    for (const [quotas, complaint] of wrong) {
      it(titleOf(complaint), () => assert.rejects(made({ quotas } as Partial<OperatorsArgs>), complaint));
    }
  });
});
