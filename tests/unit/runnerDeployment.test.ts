import assert from "node:assert/strict";
import { isRecord } from "../../runtime/base/json";
import { run } from "./support/program";
import { EVERY_FORM, operatorsProgram, sampleProgram } from "./support/sampleOperators";

type PodBuilder = new (spec: Record<string, unknown>) => object;

/** The module that kubernetesx' own index takes its names from, at each use. */
const kubernetesx = require("@pulumi/kubernetesx/kx") as { PodBuilder: PodBuilder };
const MARK = 4242;

describe("a runner's Deployment", () => {
  const sample = sampleProgram(EVERY_FORM);

  /** The pods of all runners, by operator. */
  async function pods(): Promise<Map<string, Record<string, unknown>>> {
    const { manifests } = await run(operatorsProgram(sample));
    const runners = manifests.filter(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name.endsWith("-runner"),
    );
    return new Map(
      runners.map(({ metadata, spec }) => {
        assert.ok(isRecord(spec) && isRecord(spec.template) && isRecord(spec.template.spec));
        return [metadata.name, spec.template.spec];
      }),
    );
  }

  it("has the pod that kubernetesx has built", async () => {
    const { PodBuilder: original } = kubernetesx;
    let built = 0;
    kubernetesx.PodBuilder = class extends original {
      constructor(spec: Record<string, unknown>) {
        built++;
        super({ ...spec, terminationGracePeriodSeconds: MARK });
      }
    };
    try {
      const marked = [...(await pods()).values()].map((pod) => pod.terminationGracePeriodSeconds);
      assert.deepEqual(marked, [MARK, MARK, MARK, MARK]);
      assert.equal(built, 4);
    } finally {
      kubernetesx.PodBuilder = original;
    }
    const marked = [...(await pods()).values()].filter((pod) => pod.terminationGracePeriodSeconds === MARK);
    assert.deepEqual(marked, []);
  });
});
