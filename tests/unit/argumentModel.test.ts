import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import fc from "fast-check";
import { z } from "zod";
import { argumentOf } from "../../components/arguments/argumentModel";
import type { ArgoPlatformArgs } from "../../components/arguments/arguments";
import {
  completePlatformArgs,
  DESCRIBED_ARGUMENTS,
  OPERATORS_ARGUMENTS,
  PLATFORM_ARGUMENTS,
} from "../../components/arguments/completeArguments";
import { later } from "../../components/arguments/inputs";
import { ConfigurationError } from "../../components/errors";
import { about } from "../../components/manifests/about";
import { fields, integer, listOf, oneOf, text } from "../../definition/checks";
import { problemsIn } from "./operatorFolder";
import { anyPlatformOptions } from "./support/platform";

describe("what the schemas say of arguments", () => {
  it("is the meaning, the form, the default and the key of each", () => {
    const size = integer(1, 5, "")
      .default(2)
      .describe("The size.")
      .meta(about({ key: "size" }));
    assert.deepEqual(argumentOf("size", size), {
      name: "size",
      key: "size",
      description: "The size.",
      type: { kind: "integer" },
      isOptional: true,
      isLater: false,
      default: 2,
    });
  });

  it("is what an inner schema says, unless an outer one says something else", () => {
    const mode = oneOf(["on", "off"], "")
      .describe("A mode.")
      .meta(about({ type: "Mode" }));
    const { description, type } = argumentOf("mode", mode.optional().describe("The mode."));
    assert.deepEqual(
      [description, type],
      ["The mode.", { kind: "words", type: "Mode", description: "The mode.", words: ["on", "off"] }],
    );
  });

  it("has what is within it, under names that are made of the places", () => {
    const inner = fields({ names: listOf(later(text("")), "") }, "").optional();
    const { type } = argumentOf("", fields({ inner }, "").meta(about({ type: "Outer" })));
    assert.ok(type.kind === "object" && type.fields[0]?.type.kind === "object");
    assert.equal(type.fields[0].type.type, "OuterInner");
    const [names] = type.fields[0].type.fields;
    assert.ok(names?.type.kind === "list");
    assert.deepEqual([names.isLater, names.type.each.isLater], [false, true]);
  });

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

  it("says which arguments accept an Output", () => {
    assert.ok(argumentOf("", later(z.string())).isLater);
    assert.ok(later(z.string()).safeParse(pulumi.output("x")).success);
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
