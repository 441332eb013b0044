import assert from "node:assert/strict";
import fc from "fast-check";
import { argumentOf } from "../../components/arguments/argumentModel";
import type { ArgoPlatformArgs } from "../../components/arguments/arguments";
import {
  completePlatformArgs,
  DESCRIBED_ARGUMENTS,
  OPERATORS_ARGUMENTS,
  PLATFORM_ARGUMENTS,
} from "../../components/arguments/completeArguments";
import { ConfigurationError } from "../../components/errors";
import { problemsIn } from "./operatorFolder";
import { anyPlatformOptions } from "./support/platform";

describe("what the schemas say of arguments", () => {
  it("is a sentence for every argument, and names every argument", () => {
    const missing: string[] = [];
    const visit = (argument: ReturnType<typeof argumentOf>, path: string) => {
      const { type } = argument;
      if (type.kind === "list" || type.kind === "map") visit(type.each, `${path}[]`);
      if (type.kind !== "object" || argument.typescript?.includes("Partial<Record")) return;
      for (const field of type.fields) {
        const at = `${path}.${field.name}`;
        if (!/^[A-Z].{10,}\.$/s.test(field.description)) missing.push(at);
        if (field.name !== "transform") visit(field, at);
      }
    };
    visit(argumentOf("", DESCRIBED_ARGUMENTS), "");
    visit(argumentOf("", PLATFORM_ARGUMENTS), "platform");
    assert.deepEqual(missing, []);
    assert.deepEqual(Object.keys(DESCRIBED_ARGUMENTS.shape), Object.keys(OPERATORS_ARGUMENTS.shape));
  });
});

/** What is wrong with arguments, without the component. */
function problems(args: ArgoPlatformArgs): string[] {
  return problemsIn(() => completePlatformArgs(args, "it"), ConfigurationError).map((problem) =>
    problem.replace(/^it: /, ""),
  );
}

const fieldsOf = (args: ArgoPlatformArgs) => problems(args).map((problem) => problem.split(" ")[0]);

describe("the arguments of a platform", () => {
  it("have a default each", () => {
    assert.deepEqual(completePlatformArgs({}, "it"), {
      namespace: "argosy",
      controllerNamespace: "argosy-system",
      createNamespaces: true,
      argoEvents: "install",
      argoWorkflows: "install",
      instanceId: "argosy",
      initlessPods: false,
      jetStreamVersion: "2.10.29",
      placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
      data: "keep",
    });
    assert.deepEqual(
      completePlatformArgs({ archive: undefined } as unknown as ArgoPlatformArgs, "it").archive,
      undefined,
    );
  });

  it("are taken if they are right", () => {
    const right = anyPlatformOptions.filter(
      ({ argoWorkflows, instanceId }) => argoWorkflows !== "share" || instanceId !== "",
    );
    fc.assert(fc.property(right, (options) => assert.deepEqual(problems(options as ArgoPlatformArgs), [])));
  });

  it("want two namespaces, and none of Kubernetes' own unless it is only used", () => {
    assert.deepEqual(fieldsOf({ controllerNamespace: "argosy" }), ["controllerNamespace"]);
    assert.deepEqual(fieldsOf({ namespace: "default" }), ["namespace"]);
    assert.deepEqual(fieldsOf({ controllerNamespace: "kube-system" }), ["controllerNamespace"]);
    assert.deepEqual(fieldsOf({ namespace: "default", createNamespaces: false }), []);
  });

  it("want an instance id that can be a label's value, and want one if there is another Workflow controller", () => {
    for (const instanceId of ["-a", "a b", "a/b", "a".repeat(64)]) {
      assert.deepEqual(fieldsOf({ instanceId }), ["instanceId"], instanceId);
    }
    assert.deepEqual(fieldsOf({ instanceId: "", argoWorkflows: "share" }), ["instanceId"]);
    assert.deepEqual(fieldsOf({ instanceId: "", argoEvents: "share" }), []);
    assert.deepEqual(fieldsOf({ instanceId: "", argoWorkflows: "adopt" }), []);
  });

  it("have no pods of runs to change without Argo Workflows", () => {
    assert.deepEqual(fieldsOf({ initlessPods: true, argoWorkflows: "none" }), ["initlessPods"]);
    assert.deepEqual(fieldsOf({ initlessPods: true, argoWorkflows: "adopt" }), []);
  });

  it("want an archive only of a Workflow controller of our own, and a JetStream version only of another", () => {
    const archive = { host: "db", database: "runs", secret: "archive" };
    assert.deepEqual(fieldsOf({ archive }), []);
    assert.deepEqual(fieldsOf({ archive, argoWorkflows: "adopt" }), ["archive"]);
    assert.deepEqual(fieldsOf({ archive, argoWorkflows: "none" }), ["archive"]);
    assert.deepEqual(fieldsOf({ jetStreamVersion: "2.10", argoEvents: "adopt" }), []);
    assert.deepEqual(fieldsOf({ jetStreamVersion: "2.10", argoEvents: "none" }), ["jetStreamVersion"]);
  });
});
