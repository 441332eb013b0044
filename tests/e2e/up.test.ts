import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { KubernetesObject } from "../../runtime/base/objects";
import { ownedValues } from "../../runtime/kubernetes/managedFields";
import { FORMS } from "./support/forms";
import { session } from "./support/hooks";
import { waitFor } from "./support/progress";
import { NAMESPACE } from "./support/session";

describe("the installed program", () => {
  it("has one copy of each SDK of Pulumi's, and asks npm for no overrides", async () => {
    const { folder } = session().project;
    const { overrides } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
    assert.equal(overrides, undefined);
    const { packages } = JSON.parse(readFileSync(path.join(folder, "package-lock.json"), "utf8"));
    for (const name of ["@pulumi/pulumi", "@pulumi/kubernetes", "@pulumi/kubernetesx"]) {
      const places = Object.keys(packages).filter((place) => place.endsWith(`node_modules/${name}`));
      assert.deepEqual(places, name === "@pulumi/kubernetesx" ? [] : [`node_modules/${name}`]);
    }
  });
});

describe("pulumi up", () => {
  it("installs Argo and the operators, and ends when all of it works", async () => {
    const { outputs, summary } = await session().up();
    assert.equal(summary.result, "succeeded");
    assert.deepEqual(outputs["crdNames"]?.value, [
      "memcacheds.cache.example.com",
      "reports.office.example.com",
    ]);
    for (const form of Object.values(FORMS)) {
      const { apiVersion, kind } = form.object("any", 0);
      assert.deepEqual(await session().api.list({ apiVersion, kind }), []);
    }
  });

  it("leaves no pod that does not get ready", async () => {
    await session().up();
    // The event source waits for the custom resource definitions, which come last.
    await waitFor("every pod to be ready", async () => {
      const pods = await session().api.list({ apiVersion: "v1", kind: "Pod" }, NAMESPACE);
      assert.ok(pods.length >= 5);
      for (const { metadata, status } of pods.filter((pod) => !isOfRun(pod))) {
        const { conditions = [] } = status as { conditions?: { type: string; status: string }[] };
        const isReady = conditions.some((each) => each.type === "Ready" && each.status === "True");
        assert.ok(isReady, `${metadata.name} is not`);
      }
    });
  });

  it("changes nothing where nothing has changed", async () => {
    await session().up();
    const { summary } = await session().stack.up({ expectNoChanges: true });
    assert.deepEqual(Object.keys(summary.resourceChanges ?? {}), ["same"]);
  });
});

describe("Argo Events", () => {
  it("adds nothing to what was written, which a tool for GitOps would find changed for ever", async () => {
    await session().up();
    const groups = ["EventBus", "EventSource", "Sensor"].map((kind) =>
      session().api.list({ apiVersion: "argoproj.io/v1alpha1", kind }, NAMESPACE),
    );
    const objects = (await Promise.all(groups)).flat();
    assert.ok(objects.length >= groups.length);
    for (const object of objects) {
      const { name, managedFields = [] } = object.metadata;
      const byArgo = managedFields.filter(({ manager }) => manager?.startsWith("argo-"));
      assert.ok(byArgo.length > 0, name);
      for (const entry of byArgo.filter(({ subresource }) => subresource === undefined)) {
        const { spec = {} } = ownedValues(object, entry) as { spec?: object };
        const added = Object.entries(spec).filter(([, value]) => value !== null);
        assert.deepEqual(added, [], `${object.kind} ${name}`);
      }
    }
  });
});

/** Pods of runs come and go. */
function isOfRun({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.["workflows.argoproj.io/workflow"] !== undefined;
}
