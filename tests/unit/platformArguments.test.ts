import assert from "node:assert/strict";
import fc from "fast-check";
import type { ArgoPlatformArgs } from "../../components/arguments/arguments";
import { completePlatformArgs } from "../../components/arguments/completeArguments";
import { ConfigurationError } from "../../components/errors";
import { anyPlatformOptions } from "./support/platform";

/** What is wrong with arguments, without the component. */
function problems(args: ArgoPlatformArgs): string[] {
  try {
    completePlatformArgs(args, "it");
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError, String(error));
    return error.problems.map((problem) => problem.replace(/^it: /, ""));
  }
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

  it("want namespaces that are DNS labels", () => {
    for (const name of ["", "Argosy", "a.b", "-a", "a-", "a".repeat(64)]) {
      assert.deepEqual(fieldsOf({ namespace: name }), ["namespace"], name);
      assert.deepEqual(fieldsOf({ controllerNamespace: name }), ["controllerNamespace"], name);
    }
    assert.deepEqual(problems({ namespace: "a.b" }), [
      'namespace is "a.b", not the name of a namespace. Name one, for example argosy.',
    ]);
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

  it("know four ways into the cluster", () => {
    const wrong = { argoEvents: "nothing", argoWorkflows: true } as unknown as ArgoPlatformArgs;
    assert.deepEqual(fieldsOf(wrong), ["argoEvents", "argoWorkflows"]);
  });
});
