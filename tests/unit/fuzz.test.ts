import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { type Fuzzing, valueAt } from "../../cli/fixtures/fuzzing";
import { knownObject, runFixtures } from "../../cli/fixtures/runFixtures";
import { writeCounterexample } from "../../cli/fuzz/counterexample";
import { search } from "../../cli/fuzz/search";
import { valuesOf } from "../../cli/fuzz/values";
import type { Rule } from "../../cli/fuzz/violation";
import { loadOperators } from "../../definition/loadOperators";
import type { JsonObject } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
import {
  addFiles,
  loadDefinition,
  widgetCrd,
  widgetDefinition,
  widgetVersion,
  writeFolder,
} from "./operatorFolder";
import { runArgosy } from "./support/runArgosy";

const ROOT = path.resolve(__dirname, "../..");
/** Found is what a number of cases finds: so much time only ends what hangs. */
const LONGEST_MS = 20 * 60_000;

const SPEC = {
  type: "object",
  required: ["size", "image", "mode"],
  properties: {
    size: { type: "integer", minimum: 0 },
    image: { type: "string" },
    mode: { type: "string", enum: ["small", "large"] },
    hosts: { type: "array", items: { type: "string", pattern: "^[a-z]{1,8}$" } },
    settings: { type: "object", additionalProperties: { type: "string" } },
  },
};
const STATUS = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const crdOf = (spec: JsonObject) =>
  widgetCrd({ versions: [widgetVersion({}, { spec, status: STATUS }, { required: ["spec"] })] });
const CRD = crdOf(SPEC);
const CHILDREN = [
  { apiVersion: "apps/v1", kind: "Deployment" },
  { apiVersion: "v1", kind: "ConfigMap" },
  { apiVersion: "v1", kind: "PersistentVolumeClaim", update: "never" as const },
];

/** What every handler of the table begins with. */
const HEAD = `
const fs = require("node:fs");
const config = (name, data) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
const deployment = (name, replicas, image) => ({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name, annotations: { image } }, spec: { replicas, selector: {}, template: {} } });
const volume = (name) => ({ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name }, spec: { resources: { requests: { storage: "1Gi" } } } });
`;

/** A handler's bug, and the same handler without it: the body of reconcile. */
interface Faulty {
  readonly rules: readonly Rule[];
  readonly before?: string;
  /** @default so long that nothing else is late */
  readonly timeoutSeconds?: number;
  readonly faulty: string;
  readonly mended: string;
  /** Whether these are the bodies of finalize. @default those of reconcile */
  readonly isEnd?: true;
}

const PLAIN = "return { children: [deployment(name, size, image)] };";

const FAULTY: Readonly<Record<string, Faulty>> = {
  "keeps what it saw first in a variable": {
    rules: ["history"],
    before: "const seen = new Map();",
    faulty:
      "if (!seen.has(name)) seen.set(name, size); return { children: [deployment(name, seen.get(name), image)] };",
    mended: PLAIN,
  },
  "keeps what it saw first in a file": {
    rules: ["history"],
    faulty: `const file = __dirname + "/" + name;
      if (!fs.existsSync(file)) fs.writeFileSync(file, String(size));
      return { children: [deployment(name, Number(fs.readFileSync(file)), image)] };`,
    mended: PLAIN,
  },
  "names a child by a counter": {
    rules: ["differs"],
    before: "let count = 0;",
    faulty: "return { children: [deployment(name + ++count, size, image)] };",
    mended: "return { children: [deployment(name, size, image)] };",
  },
  "gives each process an order of its own": {
    rules: ["differs", "later"],
    before: "const order = process.pid;",
    faulty: "return { children: [config(name, { order: String(order) })] };",
    mended: 'return { children: [config(name, { order: "a" })] };',
  },
  "reads the clock, in whole seconds": {
    rules: ["later"],
    faulty: "return { children: [], status: { at: Math.floor(Date.now() / 1000) } };",
    mended: "return { children: [] };",
  },
  "forgets to take a child away when a field is unset": {
    rules: ["history"],
    faulty: `const there = children.some(({ kind }) => kind === "ConfigMap");
      return { children: settings || there ? [config(name, settings ?? {})] : [] };`,
    mended: "return { children: settings ? [config(name, settings)] : [] };",
  },
  "gives the children of all objects one name": {
    rules: ["shared"],
    faulty: 'return { children: [config("shared-settings", {}), deployment(name, size, image)] };',
    mended: "return { children: [config(name, {}), deployment(name, size, image)] };",
  },
  "throws on an empty list": {
    rules: ["fails"],
    faulty: 'return { children: [config(name, { host: (hosts ?? ["none"])[0].toUpperCase() })] };',
    mended: 'return { children: [config(name, { host: (hosts?.[0] ?? "none").toUpperCase() })] };',
  },
  "hangs on a big number": {
    rules: ["fails"],
    timeoutSeconds: 4,
    faulty: `if (size > 100_000) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); ${PLAIN}`,
    mended: PLAIN,
  },
  "deletes a volume while there are no replicas": {
    rules: ["history"],
    faulty: "return { children: size === 0 ? [] : [volume(name), deployment(name, size, image)] };",
    mended: "return { children: [volume(name), ...(size === 0 ? [] : [deployment(name, size, image)])] };",
  },
  "knows its children by their place in the list": {
    rules: ["fails"],
    faulty: `const [one, other] = children;
      const ready = one ? one.spec.replicas : 0;
      return { children: [deployment(name, size, image), config(name, {})], status: { ready } };`,
    mended: `const one = children.find(({ kind }) => kind === "Deployment");
      const ready = one ? one.spec.replicas : 0;
      return { children: [deployment(name, size, image), config(name, {})], status: { ready } };`,
  },
  "believes what its status said first": {
    rules: ["history", "disturbed"],
    faulty:
      "return { children: [deployment(name, size, status.image ?? image)], status: { image: status.image ?? image } };",
    mended: "return { children: [deployment(name, size, image)], status: { image } };",
  },
  "counts its runs in the status": {
    rules: ["restless"],
    faulty: "return { children: [], status: { runs: (status.runs ?? 0) + 1 } };",
    mended: "return { children: [] };",
  },
  "cleans up by a status that an object without a run has not": {
    rules: ["fails"],
    faulty: "return { finalized: object.status.image !== null };",
    mended: "return { finalized: object.status?.image !== null };",
    isEnd: true,
  },
  "cleans up only in the second try of a process": {
    rules: ["differs", "later"],
    before: "let count = 0;",
    faulty: "return { finalized: ++count > 1 };",
    mended: "return { finalized: object.metadata.deletionTimestamp.length > 0 };",
    isEnd: true,
  },
  "changes what all objects have for a mode that it was not written for": {
    rules: ["differs", "others", "history"],
    before: "const modes = { small: { replicas: 1 } }; let known = modes.small;",
    faulty:
      "known = modes[mode] ?? Object.assign(known, { replicas: 5 }); return { children: [deployment(name, known.replicas, image)] };",
    mended: "return { children: [deployment(name, mode === 'small' ? 1 : 5, image)] };",
  },
};

function codeOf({ before = "", isEnd }: Faulty, body: string): string {
  if (isEnd)
    return `${HEAD}${before}
exports.reconcile = () => ({ children: [], status: { image: "none" } });
exports.finalize = ({ object }) => { ${body} };`;
  return `${HEAD}${before}
exports.reconcile = ({ object, children, used, due }) => {
  const { name } = object.metadata;
  const { size, image, mode, hosts, settings } = object.spec;
  const status = object.status ?? {};
  ${body}
};`;
}

const NO_BUG: Faulty = { rules: [], faulty: PLAIN, mended: PLAIN };

/** @param timeoutSeconds only a handler that hangs needs a short time */
function operatorIn(root: string, timeoutSeconds = 120, finalize = false) {
  return loadDefinition(root, {
    ...widgetDefinition,
    name: "widget",
    handler: "main.js",
    children: CHILDREN,
    timeoutSeconds,
    finalize,
  });
}

describe("argosy fuzz", () => {
  let root: string;

  const find = (operator: Operator, runs: number) =>
    search(operator, { seed: 1, runs, ms: LONGEST_MS }, { cases: 0, refused: 0, answers: 0 });

  for (const [what, bug] of Object.entries(FAULTY))
    it(`finds a handler that ${what}, and writes a fixture that fails until it is mended`, async () => {
      root = writeFolder({ "crd.yaml": CRD, "main.js": codeOf(bug, bug.faulty) });
      const operator = operatorIn(root, bug.timeoutSeconds, bug.isEnd);
      const { violation, counterexample } = await find(operator, 200);
      assert.ok(violation && counterexample, violation?.message ?? "nothing was found");
      assert.ok(bug.rules.includes(violation.rule), violation.message);
      const file = writeCounterexample(counterexample, violation, operator, 1);
      const failed = (await runFixtures(operator)).filter(({ passed }) => !passed);
      assert.ok(failed.length > 0, readFileSync(file, "utf8"));
      addFiles(root, { "main.js": codeOf(bug, bug.mended) });
      const mended = operatorIn(root, undefined, bug.isEnd);
      for (const { differences, failure } of await runFixtures(mended))
        assert.deepEqual([differences, failure], [[], undefined], readFileSync(file, "utf8"));
      const { violation: left } = await find(mended, 3);
      assert.equal(left, undefined, left?.message);
    });

  for (const folder of ["examples", "tests/ported"])
    for (const operator of loadOperators(path.join(ROOT, folder))) {
      if (operator.rules.length > 0 || Object.keys(operator.secretEnv).length > 0) continue;
      it(`finds nothing in ${folder}: ${operator.name}`, async () => {
        const { violation, cases } = await find(operator, 5);
        assert.equal(violation, undefined, violation?.message);
        assert.ok(cases > 0);
      });
    }

  it("finds nothing in a handler that makes more of a name than a part of a text", async () => {
    const body = `const hash = require("node:crypto").createHash("sha256").update(name).digest("hex").slice(0, 8);
      const encoded = Buffer.from(name).toString("base64");
      return { children: [config("c-" + hash, { encoded }), deployment(name.toUpperCase().toLowerCase(), size, image)] };`;
    root = writeFolder({ "crd.yaml": CRD, "main.js": codeOf(NO_BUG, body) });
    const { violation } = await find(operatorIn(root), 6);
    assert.equal(violation, undefined, violation?.message);
  });

  it("has all operators of others that its documentation speaks of, and their fixtures pass", async () => {
    const ported = loadOperators(path.join(ROOT, "tests/ported"));
    assert.equal(ported.length, 5);
    for (const operator of ported)
      for (const { name, differences, failure } of await runFixtures(operator))
        assert.deepEqual([differences, failure], [[], undefined], `${operator.name} ${name}`);
  });

  describe("what a CRD's schema says", () => {
    const valuesIn = (spec: JsonObject, fuzzing: Fuzzing = {}, seeds: readonly JsonObject[] = []) => {
      root = writeFolder({
        "crd.yaml": crdOf(spec),
        "main.js": "exports.reconcile = () => ({ children: [] });",
      });
      const operator = operatorIn(root);
      const values = valuesOf(operator, seeds, fuzzing);
      const contents = fc.sample(values.content, { numRuns: 200, seed: 1 });
      return { operator, values, contents };
    };

    it("is what the values are, with few that are refused", () => {
      const { operator, contents } = valuesIn({
        type: "object",
        required: ["size", "names", "either"],
        properties: {
          size: { type: "integer", minimum: 3, maximum: 9, multipleOf: 3 },
          ratio: { type: "number", minimum: 0, maximum: 1 },
          names: { type: "array", minItems: 1, maxItems: 2, items: { type: "string", maxLength: 3 } },
          keys: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            items: { type: "object", required: ["id"], properties: { id: { type: "integer" } } },
          },
          host: { type: "string", pattern: "^[a-z]+([.][a-z]+)*$", maxLength: 30 },
          either: { "x-kubernetes-int-or-string": true },
          until: { type: "string", format: "date-time" },
          labels: { type: "object", additionalProperties: { type: "string", enum: ["a", "b"] } },
          any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      });
      const flaws = contents.flatMap(
        (content) => knownObject({ metadata: { name: "a" }, ...content }, operator).flaw ?? [],
      );
      assert.ok(flaws.length < 10, flaws.slice(0, 3).join("\n"));
      const sizes = new Set(contents.map((content) => valueAt(content, "spec.size")));
      assert.deepEqual([...sizes].sort(), [3, 6, 9]);
    });

    it("leaves what rules in CEL read to the values of fixtures, and never changes what is compared with its old value", () => {
      const spec = {
        type: "object",
        required: ["class"],
        properties: {
          class: { type: "string" },
          low: { type: "integer", default: 1 },
          high: { type: "integer", default: 2 },
          size: { type: "integer" },
        },
        "x-kubernetes-validations": [
          { rule: "self.low <= self.high" },
          { rule: "self.class == oldSelf.class" },
        ],
      };
      const seeds = [{ spec: { class: "gold", low: 1, high: 2 } }];
      const { values, contents } = valuesIn(spec, {}, seeds);
      assert.deepEqual(values.known, ["spec.low", "spec.high", "spec.class"]);
      assert.ok(values.fixed.includes("spec.class"));
      for (const { spec: made } of contents) {
        const { size: _, ...ruled } = made as JsonObject;
        assert.deepEqual(ruled, seeds[0]?.spec);
      }
      assert.ok(new Set(contents.map((content) => valueAt(content, "spec.size"))).size > 5);
    });

    it("gives way to the values that a fixture declares", () => {
      const spec = { type: "object", properties: { samples: { type: "integer", default: 1_000_000 } } };
      const { contents } = valuesIn(spec, { values: { "spec.samples": [1, 10] } });
      const given = contents.filter((content) => content["spec"] !== undefined);
      assert.deepEqual(
        [...new Set(given.map((content) => valueAt(content, "spec.samples")))].sort(),
        [1, 10],
      );
    });
  });

  it("says so if the handler has not even answered for the first object when the time is over", async () => {
    root = writeFolder({ "crd.yaml": CRD, "main.js": codeOf(NO_BUG, "for (;;);") });
    const budget = { seed: 1, runs: 5, ms: 2_000 };
    const searching = search(operatorIn(root), budget, { cases: 0, refused: 0, answers: 0 });
    await assert.rejects(
      searching,
      /^CommandError: widget: no case came to its end in 2 s, .* 120 s .*--seconds/,
    );
  });

  for (const [declared, complaint] of [
    ["{ ignor: [status.a] }", /fuzz\.ignor is not a known field.*ignore/s],
    ["{ values: { spec.size: [] } }", /fuzz\.values\.spec\.size is empty/],
    ["{ fixed: [spec.sise] }", /names spec\.sise, which its CRD's schema does not have/],
    ["{ ignore: [Pod.spec] }", /names Pod\.spec\. It must begin with one of: status, Deployment, ConfigMap/],
  ] as const)
    it(`refuses fuzz: ${declared}`, async () => {
      root = writeFolder({ "crd.yaml": CRD, "main.js": codeOf(NO_BUG, NO_BUG.faulty) });
      addFiles(root, { "fixtures/fuzz.yaml": `fuzz: ${declared}\n` });
      await assert.rejects(find(operatorIn(root), 1), complaint);
    });

  it("asks no handler that may act outside, unless it is told to", async () => {
    root = writeFolder({
      "handlers/widget/crd.yaml": CRD,
      "handlers/widget/main.js": codeOf(NO_BUG, NO_BUG.faulty),
    });
    addFiles(root, {
      "handlers/widget/operator.yaml": {
        ...{ name: "widget", crd: "crd.yaml", handler: "main.js", children: CHILDREN },
        secretEnv: { TOKEN: { secret: "widget", key: "token" } },
      },
    });
    const run = (...more: string[]) =>
      runArgosy("fuzz", "widget", "--handlers", path.join(root, "handlers"), "--runs", "1", ...more);
    const refused = await run();
    assert.equal(refused.result, 2);
    assert.match(
      refused.stderr,
      /widget: its rules or secretEnv let its handler act outside.*--acts-outside/,
    );
    process.env["TOKEN"] = "x";
    try {
      const { result, stdout } = await run("--acts-outside", "--json", "--seed", "7");
      assert.equal(result, 0);
      const told = JSON.parse(stdout);
      assert.deepEqual([told.operator, told.passed, told.seed, told.cases], ["widget", true, 7, 1]);
    } finally {
      delete process.env["TOKEN"];
    }
  });
});
