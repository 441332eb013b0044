import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import fc from "fast-check";
import { planEventPath } from "../../components/manifests/eventPath/eventSource";
import { reportOn } from "../../definition/definitionFile";
import type { LoadOptions } from "../../definition/loadOperator";
import { loadOperators } from "../../definition/loadOperators";
import { override } from "../../definition/overrides";
import { Problems } from "../../definition/problems";
import { type OperatorDefinition, type OperatorOverrides, OVERRIDES } from "../../definition/schema";
import type { Operator } from "../../runtime/operator/definition";
import { addFiles, problemsIn, widgetCrd, writeFolder } from "./operatorFolder";
import { operatorOptions } from "./operatorManifests";
import { crdOf } from "./support/sampleOperators";

const DEFINITION = {
  crd: "crd.yaml",
  handler: { image: "a:1", command: ["sh"] },
  children: ["v1/ConfigMap"],
  concurrency: 8,
  record: "all",
  env: { LEVEL: "info", REGION: "north" },
  secretEnv: { TOKEN: { secret: "api", key: "token" } },
  resources: { requests: { cpu: "1" }, limits: { memory: "1Gi", cpu: "2" } },
} satisfies OperatorDefinition;

describe("overrides", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({ "widget/crd.yaml": widgetCrd(), "widget/operator.yaml": DEFINITION });
  });

  const load = (overrides: OperatorOverrides): Operator => {
    const [operator] = loadOperators(root, { overrides: { widget: overrides } });
    assert.ok(operator);
    return operator;
  };
  const problems = (overrides: unknown): string[] => {
    const found = problemsIn(() => loadOperators(root, { overrides } as LoadOptions));
    return found.map((problem) => problem.replace(/^\S*\/argosy-test-[^/]*\//, ""));
  };
  const problemsOf = (overrides: unknown): string[] => problems({ widget: overrides });

  it("go before the definition", () => {
    const given: OperatorOverrides = {
      namespaces: ["team-a"],
      concurrency: 3,
      timeoutSeconds: 5,
      resyncSeconds: 30,
      record: "failures",
      userRoles: true,
      replicas: 1,
    };
    const operator = load(given);
    for (const [field, value] of Object.entries(given)) {
      assert.deepStrictEqual(operator[field as keyof Operator], value, field);
    }
    assert.deepStrictEqual(operator.env, DEFINITION.env);
  });

  it("change nothing if they are empty", () => {
    const [without] = loadOperators(root);
    for (const nothing of [{}, { env: undefined, image: undefined, replicas: undefined }]) {
      assert.deepStrictEqual(load(nothing), without);
    }
    assert.deepStrictEqual(loadOperators(root, { overrides: { widget: undefined } }), [without]);
    assert.equal(without && "replicas" in without, false);
  });

  it("replace variables and quantities one by one, and a list as a whole", () => {
    const { env, resources } = load({
      env: { LEVEL: "debug", NEW: "" },
      resources: { limits: { memory: "2Gi" } },
    });
    assert.deepStrictEqual(env, { LEVEL: "debug", REGION: "north", NEW: "" });
    assert.deepStrictEqual(resources, { requests: { cpu: "1" }, limits: { memory: "2Gi", cpu: "2" } });
  });

  it("replace a variable whether its value came from a Secret or not", () => {
    const literal = load({ env: { TOKEN: "test" } });
    assert.deepStrictEqual([literal.env.TOKEN, literal.secretEnv], ["test", {}]);
    const secret = load({ secretEnv: { LEVEL: { secret: "api", key: "level" } } });
    assert.deepStrictEqual(Object.keys(secret.env), ["REGION"]);
    assert.deepStrictEqual(Object.keys(secret.secretEnv), ["TOKEN", "LEVEL"]);
  });

  it("give the image of a program and of a function", () => {
    assert.deepStrictEqual(load({ image: "a:2" }).handler, { image: "a:2", command: ["sh"] });
    addFiles(root, {
      "widget/operator.yaml": { crd: "crd.yaml", handler: "main.py", children: [] },
      "widget/main.py": "def reconcile(request): ...\n",
    });
    assert.deepStrictEqual(load({ image: "python:3.12" }).handler, {
      image: "python:3.12",
      function: "main.py",
    });
  });

  it("turn a resident operator into one of pods, and back", () => {
    const { execution, concurrency, record } = load({ execution: "pod" });
    assert.deepStrictEqual([execution, concurrency, record], ["pod", 32, "changes"]);
    const { concurrency: _, record: __, ...pod } = { ...DEFINITION, execution: "pod" };
    addFiles(root, { "widget/operator.yaml": pod });
    assert.deepStrictEqual([load({ execution: "resident" }).concurrency], [64]);
  });

  it("are for the operator of that name, not of that folder", () => {
    addFiles(root, { "widget/operator.yaml": { ...DEFINITION, name: "gear" } });
    assert.deepStrictEqual(problems({ widget: {} }), [
      "overrides.widget: it names no operator. Known operators: gear.",
    ]);
    assert.equal(loadOperators(root, { overrides: { gear: { concurrency: 2 } } })[0]?.concurrency, 2);
  });

  const wrong: [overrides: unknown, problem: string, ...others: string[]][] = [
    [{ namespace: ["a"] }, "overrides.widget: namespace is not a known field. Did you mean namespaces?"],
    [
      { children: [], rules: [], grants: [] },
      "overrides.widget: children cannot be overridden. Write it in operator.yaml: all stacks share it.",
      "overrides.widget: rules cannot be overridden. Write it in operator.yaml: all stacks share it.",
      "overrides.widget: grants cannot be overridden. Write it in operator.yaml: all stacks share it.",
    ],
    [
      { env: { LEVEL: 3 }, replicas: "2" },
      "overrides.widget: env.LEVEL must be a string, not the number 3: write it in quotes. A variable is a string, for example LOG_LEVEL: info.",
      'overrides.widget: replicas must be a whole number, not the string "2". One leads, the others stand by: give 1 or 2.',
    ],
    [
      { env: { HOST: pulumi.output("a") } },
      "overrides.widget: env.HOST must be a string, not an output of Pulumi, which is not known yet. A variable is a string, " +
        "for example LOG_LEVEL: info.",
    ],
    [
      { replicas: 6 },
      "overrides.widget: replicas is 6, outside of 1 to 5. One leads, the others stand by: give 1 or 2.",
    ],
    [
      { env: { A: "" }, secretEnv: { A: { secret: "api", key: "a" } } },
      "overrides.widget: secretEnv.A is in env as well. Keep one of the two.",
    ],
    [
      { execution: "pod", record: "all" },
      "overrides.widget: record has no meaning with execution: pod: every run is a Workflow. Leave it out.",
    ],
    [
      [],
      "overrides.widget: it must be an object, not a list. Write, for example, { replicas: 1, env: { LOG_LEVEL: debug } }.",
    ],
    [
      "x",
      'overrides.widget: it must be an object, not the string "x". Write, for example, { replicas: 1, env: { LOG_LEVEL: debug } }.',
    ],
  ];
  for (const [overrides, ...expected] of wrong) {
    it(`are refused: ${expected[0]}`, () => assert.deepStrictEqual(problemsOf(overrides), expected));
  }

  it("are named if the definition alone would be valid", () => {
    addFiles(root, {
      "widget/operator.yaml": {
        ...DEFINITION,
        children: ["v1/Namespace"],
        env: { A: "{{b}}" },
      },
    });
    assert.deepStrictEqual(problemsOf({ namespaces: ["team-a"] }), [
      "overrides.widget: children[0] is Namespace, which is cluster-scoped. Leave it out, or write namespaces: all.",
    ]);
    const [variable = ""] = problemsOf({ execution: "pod" });
    assert.match(variable, /^overrides\.widget: env\.A has "\{\{", which Argo/);
  });

  it("are not named for what the definition says itself", () => {
    addFiles(root, { "widget/operator.yaml": { ...DEFINITION, children: ["v1/Deployment"] } });
    assert.match(
      problemsOf({ replicas: 1, env: { A: "" } })[0] ?? "",
      /^widget\/operator\.yaml:7:5: children\[0\]/,
    );
  });

  it("may not be for an operator that does not exist", () => {
    addFiles(root, { "gear/crd.yaml": crdOf("gear"), "gear/operator.yaml": DEFINITION });
    assert.deepStrictEqual(problems({ widgt: {}, "": {}, constructor: {} }), [
      "overrides.widgt: it names no operator. Did you mean widget?",
      "overrides.: it names no operator. Known operators: gear, widget.",
      "overrides.constructor: it names no operator. Known operators: gear, widget.",
    ]);
  });

  it("are an object", () => {
    for (const [overrides, found] of [
      [[], "a list"],
      ["memcached", 'the string "memcached"'],
    ] as const) {
      const [problem] = problems(overrides);
      assert.equal(
        problem,
        `the program: overrides must be an object, not ${found}. Give overrides by the names of operators.`,
      );
    }
  });

  it("are named by what is checked later on", () => {
    const namespaces = Array.from({ length: 400 }, (_, index) => `team-with-a-long-name-${index}`);
    const options = { ...operatorOptions(), name: "argosy", eventBus: { replicas: 1 } };
    assert.throws(() => planEventPath([load({ namespaces })], options), {
      message: /^overrides\.widget: namespaces lists 400 namespaces/,
    });
    const told = new Problems();
    const report = reportOn(load({ env: { LEVEL: "x" } }), told);
    report("env.LEVEL", "is wrong", "Mend it.");
    report("env.REGION", "is wrong", "Mend it.");
    const [first, second] = told.toError().problems;
    assert.equal(first, "overrides.widget: env.LEVEL is wrong. Mend it.");
    assert.match(second ?? "", /widget\/operator\.yaml:12:3: env\.REGION is wrong\. Mend it\.$/);
  });

  it("leave the definition that they are laid over as it was", () => {
    const before = structuredClone(DEFINITION);
    override(DEFINITION, { env: { LEVEL: "x" }, resources: { limits: { memory: "3Gi" } }, image: "a:3" });
    assert.deepStrictEqual(DEFINITION, before);
  });

  it("laid over twice are as laid over once", () => {
    const variables = fc.dictionary(fc.constantFrom("A", "LEVEL", "TOKEN"), fc.constantFrom("x", "y"), {
      noNullPrototype: true,
    });
    const secrets = fc.dictionary(fc.constantFrom("A", "B"), fc.constant({ secret: "s", key: "k" }), {
      noNullPrototype: true,
    });
    const some = fc.record(
      {
        env: variables,
        secretEnv: secrets,
        execution: fc.constantFrom("resident", "pod"),
        concurrency: fc.constant(2),
        image: fc.constant("a:9"),
        resources: fc.constant({ limits: { memory: "9Gi" } }),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<OperatorOverrides>;
    fc.assert(
      fc.property(some, (overrides) => {
        assert.ok(OVERRIDES.safeParse(overrides).success);
        const once = override(DEFINITION, overrides);
        assert.deepStrictEqual(override(once.definition, overrides), once);
      }),
    );
  });
});
