import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { EVENT_FILTER } from "../../../components/manifests/eventPath/eventFilter";
import type { Manifest } from "../../../runtime/base/objects";
import { run } from "../support/program";
import { EVERY_FORM, operatorsProgram, sampleProgram } from "../support/sampleOperators";

const ROOT = path.resolve(__dirname, "../../..");

describe("what the program makes", function () {
  this.timeout(120_000);
  const sample = sampleProgram(EVERY_FORM);
  let manifests: readonly Manifest[];
  before(async () => {
    ({ manifests } = await run(operatorsProgram(sample)));
  });

  const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);

  it("has no Go template in a Sensor, and takes only namespace, name, uid and version from an event", () => {
    const sensors = ofKind("Sensor");
    assert.ok(sensors.length > 0);
    for (const { spec } of sensors) {
      const text = JSON.stringify(spec);
      assert.doesNotMatch(text, /\{\{|dataTemplate|contextTemplate|contextKey|useRawData/);
      const keys = [...text.matchAll(/"dataKey":"([^"]+)"/g)].map(([, key]) => key);
      assert.deepEqual([...new Set(keys)].sort(), [
        "body.metadata.name",
        "body.metadata.namespace",
        "body.metadata.resourceVersion",
        "body.metadata.uid",
      ]);
    }
  });

  it("has one Lua filter, with nothing of any operator or object in it", () => {
    const scripts = ofKind("Sensor").flatMap(({ spec }) =>
      (spec as { dependencies: { filters: { script: string } }[] }).dependencies.map(
        ({ filters }) => filters.script,
      ),
    );
    assert.ok(scripts.length > 3);
    assert.deepEqual(new Set(scripts), new Set([EVENT_FILTER]));
    assert.doesNotMatch(scripts.join("\n"), /\b(os|io|load|loadstring|dofile|require)\b/);
  });

  it("puts no parameter of a run into a command, an environment or a file of its pod", () => {
    const templates = ofKind("WorkflowTemplate");
    assert.ok(templates.length > 3);
    for (const { metadata, spec } of templates) {
      for (const part of JSON.stringify((spec as { templates: unknown }).templates).match(/\{\{[^}]*\}\}/g) ??
        []) {
        assert.match(
          part,
          /^\{\{workflow\.(name|uid)\}\}$|^\{\{workflow\.parameters\.(namespace|name)\}\}$/,
          metadata.name,
        );
      }
    }
  });

  it("lets only the Sensor and runners reach the port for hints of each resident runner, by NetworkPolicy", () => {
    const policies = ofKind("NetworkPolicy").filter(({ spec }) => JSON.stringify(spec).includes("8080"));
    const runners = ofKind("Deployment").filter(({ metadata }) => metadata.name.endsWith("-runner"));
    assert.deepEqual(
      policies.map(({ metadata }) => metadata.name).sort(),
      runners.map(({ metadata }) => metadata.name).sort(),
    );
    for (const { spec } of policies) {
      const { ingress, policyTypes } = spec as {
        ingress: { ports: { port: number }[]; from: object[] }[];
        policyTypes: string[];
      };
      assert.deepEqual(policyTypes, ["Ingress"]);
      const [hints] = ingress.filter(({ ports }) => ports.some(({ port }) => port === 8080));
      assert.equal(hints?.from.length, 2);
      for (const peer of hints?.from ?? []) assert.deepEqual(Object.keys(peer), ["podSelector"]);
      assert.ok(ingress.every(({ from, ports }) => from.length > 0 && ports.length === 1));
    }
  });
});

describe("the dependencies", () => {
  const runs = (): string[] => {
    const folder = path.join(ROOT, ".github/workflows");
    const steps = readdirSync(folder).flatMap((file) => {
      const { jobs } = parse(readFileSync(path.join(folder, file), "utf8")) as {
        jobs: Record<string, { steps?: { run?: string }[] }>;
      };
      return Object.values(jobs).flatMap((job) => job.steps ?? []);
    });
    return steps.flatMap(({ run }) => run ?? []);
  };

  it("are audited for known vulnerabilities by a workflow of GitHub's", () => {
    assert.ok(runs().some((run) => /^npm audit --audit-level=(high|moderate|low)$/.test(run)));
  });

  it("have signatures of their registry, which the same workflow checks", () => {
    assert.ok(runs().includes("npm audit signatures"));
  });
});
