import assert from "node:assert/strict";
import fc from "fast-check";
import {
  buildEventSource,
  MAX_SPECIFICATION_BYTES,
  planEventPath,
  specificationBytes,
} from "../../components/manifests/eventPath/eventSource";
import type { EventPathOptions } from "../../components/manifests/eventPath/options";
import { buildSensor } from "../../components/manifests/eventPath/sensor";
import { OperatorError } from "../../definition/problems";
import { assertEach } from "./support/lists";
import { operator } from "./support/objects";
import { samplePlatform } from "./support/platform";

const OPTIONS: EventPathOptions = {
  name: "argosy",
  platform: samplePlatform({ namespace: "operators", instanceId: "argosy", jetStreamVersion: "2.10.29" }),
  placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
  eventBus: { replicas: 1 },
};

/** As many operators, named by number, as `events` has entries: each with as many namespaces. 0 is all of them. */
const operatorsWith = (events: readonly number[]) =>
  events.map((count, index) =>
    operator({
      name: `operator-${index + 1}`,
      folder: `/operators/${index + 1}`,
      execution: index % 3 === 2 ? "pod" : "resident",
      namespaces: count === 0 ? "all" : Array.from({ length: count }, (_, number) => `namespace-${number}`),
    }),
  );

const namesOf = (events: readonly number[]) =>
  planEventPath(operatorsWith(events), OPTIONS).map(({ name, operators }) => [
    name,
    operators.map((each) => Number(each.name.replace("operator-", ""))),
  ]);

describe("planEventPath", () => {
  it("shares one pair among all operators of a program of common size", () => {
    assert.deepEqual(namesOf([0, 0, 3, 0]), [["argosy", [1, 2, 3, 4]]]);
  });

  it("begins a further pair, in the operators' order, when one is full", () => {
    assert.deepEqual(namesOf([25, 25, 5]), [
      ["argosy", [1]],
      ["argosy-shard-2", [2, 3]],
    ]);
  });

  it("carries every operator once, and hands no pod more than it can be given", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 18 }), { maxLength: 12 }), (events) => {
        const operators = operatorsWith(events);
        const shards = planEventPath(operators, OPTIONS);
        assert.deepEqual(
          shards.flatMap((shard) => shard.operators),
          operators,
        );
        for (const shard of shards) {
          const sensor = buildSensor(shard, OPTIONS);
          assert.ok(specificationBytes(sensor) <= MAX_SPECIFICATION_BYTES);
          assert.ok(specificationBytes(buildEventSource(shard, sensor, OPTIONS)) <= MAX_SPECIFICATION_BYTES);
        }
        // No pair could have taken the first operator of the next.
        for (const [index, shard] of shards.slice(0, -1).entries()) {
          const next = shards[index + 1]?.operators.slice(0, 1) ?? [];
          const fuller = buildSensor({ ...shard, operators: [...shard.operators, ...next] }, OPTIONS);
          assert.ok(specificationBytes(fuller) > MAX_SPECIFICATION_BYTES);
        }
      }),
      { numRuns: 30 },
    );
  });

  it("names every operator that is too large for a pair of its own", () => {
    assert.throws(
      () => planEventPath(operatorsWith([0, 200, 300]), OPTIONS),
      (error) => {
        assert.ok(error instanceof OperatorError);
        assertEach(error.problems, (problem) => problem.replace(/^.*\/operators/, "/operators"), [
          "/operators/2/operator.yaml: namespaces lists 200 namespaces, more than one Sensor can carry. Write all, or make it several operators with fewer namespaces each.",
          "/operators/3/operator.yaml: namespaces lists 300 namespaces, more than one Sensor can carry. Write all, or make it several operators with fewer namespaces each.",
        ]);
        return true;
      },
    );
  });

  it("measures what Go would write, in base64", () => {
    const manifest = (script: string) => ({
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Sensor",
      metadata: { name: "argosy", namespace: "operators" },
      spec: { script },
    });
    const plain = specificationBytes(manifest(""));
    assert.equal(specificationBytes(manifest("xyz")), plain + 4);
    assert.equal(specificationBytes(manifest("é<")), specificationBytes(manifest("12345678")));
  });
});
