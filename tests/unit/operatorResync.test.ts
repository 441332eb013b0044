import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { OperatorOptions } from "../../components/manifests/operator/options";
import { resyncSchedule } from "../../components/manifests/operator/workflows";
import type { Operator } from "../../runtime/definition/definition";
import { RUNNER_ENVIRONMENT } from "../../runtime/pod/layout";
import { programFingerprint } from "../../runtime/pod/withoutWatches/footprint";
import { operatorOptions, PLACEMENT } from "./operatorManifests";
import { build, containersOf, RULES, SCHEDULED } from "./support/workflowTemplates";

describe("a change of an operator with a pod for each run", () => {
  const SHAPES: readonly [Partial<Operator>, OperatorOptions][] = [
    [{}, operatorOptions()],
    [{ rules: RULES, env: { A: "b" } }, operatorOptions({ placement: PLACEMENT })],
    [SCHEDULED, operatorOptions({ quotas: { shop: { pods: 40 } } })],
  ];
  const shape = fc.constantFrom(...SHAPES);

  /** The keys of the manifests that differ, and whether a run is of another program. */
  function changeOf(
    [more, options]: (typeof SHAPES)[number],
    from: Partial<Operator>,
    to: Partial<Operator>,
  ) {
    const [before, after] = [from, to].map((each) => build({ execution: "pod", ...more, ...each }, options));
    assert.ok(before && after);
    assert.deepStrictEqual(Object.keys(after.set), Object.keys(before.set));
    const programs = [before, after].map(({ specOf }) => programFingerprint(specOf("template")));
    return {
      changed: Object.keys(before.set).filter((key) => !isDeepStrictEqual(before.set[key], after.set[key])),
      isOtherProgram: programs[0] !== programs[1],
    };
  }

  it("of its concurrency changes the limit that Argo and the resync read, and no run", () => {
    const concurrency = fc.integer({ min: 1, max: 128 });
    fc.assert(
      fc.property(shape, concurrency, concurrency, (given, from, to) => {
        const most = given[1].quotas?.["shop"]?.pods ?? Number.POSITIVE_INFINITY;
        const isOther = Math.min(from, most) !== Math.min(to, most);
        const change = changeOf(given, { concurrency: from }, { concurrency: to });
        assert.deepStrictEqual(change, { changed: isOther ? ["run-limit"] : [], isOtherProgram: false });
      }),
      { examples: [[SHAPES[0] as (typeof SHAPES)[number], 6, 4]] },
    );
  });

  it("of its resyncSeconds changes the resync, perhaps how long failed runs are kept, and no run", () => {
    const seconds = fc.integer({ min: 60, max: 86_400 });
    fc.assert(
      fc.property(shape, seconds, seconds, (given, from, to) => {
        const change = changeOf(given, { resyncSeconds: from }, { resyncSeconds: to });
        const kept = (resync: number) => Math.max(given[1].failedRunsKeptSeconds, 2 * resync);
        const isKeptAlike = kept(from) === kept(to);
        const resync = from === to ? [] : ["resync-template", "resync"];
        const changed = [...(isKeptAlike ? [] : ["template"]), ...resync];
        assert.deepStrictEqual(change, { changed, isOtherProgram: false });
      }),
      {
        examples: [
          [SHAPES[0] as (typeof SHAPES)[number], 600, 60],
          [SHAPES[0] as (typeof SHAPES)[number], 600, 86_400],
        ],
      },
    );
  });

  it("of its handler's time is another program", () => {
    for (const given of SHAPES) {
      const { changed, isOtherProgram } = changeOf(given, { timeoutSeconds: 30 }, { timeoutSeconds: 60 });
      assert.deepStrictEqual([changed.includes("template"), isOtherProgram], [true, true]);
    }
  });
});

describe("the resync of an operator with a pod for each run", () => {
  const { set, specOf } = build({ execution: "pod", resyncSeconds: 3600 });

  it("learns how many runs go on at once from where Argo does, and how often it comes", () => {
    const [container] = containersOf(specOf("resync-template"));
    const variable = (name: string) => container?.env.find((each) => each.name === name);
    const configMapKeyRef = { name: set["run-limit"]?.metadata.name, key: "pods" };
    assert.deepStrictEqual(variable(RUNNER_ENVIRONMENT.concurrency)?.valueFrom, { configMapKeyRef });
    assert.equal(variable(RUNNER_ENVIRONMENT.resyncSeconds)?.value, "3600");
  });

  it("submits a Workflow that only refers to a template, since others are refused", () => {
    const { workflowSpec, schedules, concurrencyPolicy } = (set.resync?.spec ?? {}) as Record<
      string,
      unknown
    >;
    assert.deepStrictEqual(workflowSpec, { workflowTemplateRef: { name: "shop-resync" } });
    assert.equal(set["resync-template"]?.metadata.name, "shop-resync");
    assert.deepStrictEqual(schedules, ["0 * * * *"]);
    assert.equal(concurrencyPolicy, "Forbid");
  });

  it("is one container, with the rights of its own account", () => {
    const spec = specOf("resync-template");
    const [container, ...others] = containersOf(spec);
    assert.deepStrictEqual(others, []);
    assert.deepStrictEqual(container?.command, [
      "node",
      "--min-semi-space-size=8",
      "/argosy/engine/engine.js",
      "resync",
    ]);
    assert.equal(spec.serviceAccountName, "shop-resync");
    assert.ok(spec.templates.some(({ name }) => name === spec.entrypoint));
  });

  it("has its pod ended by the kubelet before the next one of ten minutes later would be skipped", () => {
    const spec = specOf("resync-template");
    assert.equal(spec.templates[0].activeDeadlineSeconds, 360);
    assert.equal(spec.activeDeadlineSeconds, 600);
  });

  it("mounts exactly the volumes that it has", () => {
    const spec = specOf("resync-template");
    assert.deepStrictEqual(
      containersOf(spec).flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name)),
      spec.templates[0].volumes?.map(({ name }) => name),
    );
  });
});

describe("resyncSchedule", () => {
  const schedules: [number, string][] = [
    [60, "* * * * *"],
    [119, "* * * * *"],
    [120, "*/2 * * * *"],
    [600, "*/10 * * * *"],
    [700, "*/10 * * * *"],
    [3599, "*/30 * * * *"],
    [3600, "0 * * * *"],
    [7200, "0 */2 * * *"],
    [86399, "0 */12 * * *"],
    [86400, "0 0 * * *"],
  ];
  for (const [seconds, schedule] of schedules) {
    it(`makes "${schedule}" of ${seconds} s`, () => assert.equal(resyncSchedule(seconds), schedule));
  }

  it("is never rarer than it is to be, not much more often than twice, and the same all day", () => {
    fc.assert(
      fc.property(fc.integer({ min: 60, max: 86400 }), (seconds) => {
        const [minutes = "", hours = ""] = resyncSchedule(seconds).split(" ");
        const step = (field: string) => Number(field.split("/")[1] ?? 1);
        const every = hours === "0" ? 86400 : minutes === "0" ? step(hours) * 3600 : step(minutes) * 60;
        assert.ok(every <= seconds, `${every} of ${seconds}`);
        assert.ok(every * 2.1 > seconds, `${every} of ${seconds}`);
        const day = every >= 3600 ? 86400 : 3600;
        assert.equal(day % every, 0);
      }),
    );
  });
});
