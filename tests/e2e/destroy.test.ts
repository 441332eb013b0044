import assert from "node:assert/strict";
import { namespace } from "../integration/support/manifests";
import { createReady, FORMS } from "./support/forms";
import { session } from "./support/hooks";
import { waitFor } from "./support/progress";
import { CONTROLLER_NAMESPACE, NAMESPACE } from "./support/session";

const MOST_MS = 180_000;
const GROUPS = ["cache.example.com", "office.example.com", "argoproj.io"];
/** Kinds of cluster scope that we make. */
const CLUSTER_SCOPED = [
  ["rbac.authorization.k8s.io/v1", "ClusterRole"],
  ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding"],
] as const;

describe("pulumi destroy, with custom resources that live", () => {
  let tookMs = 0;

  before(async () => {
    await session().up();
    for (const form of Object.values(FORMS)) await createReady(form, "alive", 1);
    const startedAt = performance.now();
    await session().destroy();
    tookMs = performance.now() - startedAt;
  });

  it("ends within three minutes", () => {
    assert.ok(tookMs < MOST_MS, `${tookMs} ms`);
  });

  it("leaves no namespace, no CRD and nothing of cluster scope", async () => {
    const { api } = session();
    for (const name of [NAMESPACE, CONTROLLER_NAMESPACE]) await api.assertGone(namespace(name));
    const definitions = await api.list({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
    });
    const ours = definitions
      .map(({ metadata }) => metadata.name)
      .filter((name) => GROUPS.some((group) => name.endsWith(group)));
    assert.deepEqual(ours, []);
    for (const [apiVersion, kind] of CLUSTER_SCOPED) {
      const found = await api.list({ apiVersion, kind });
      const managed = found.filter(
        ({ metadata }) => metadata.labels?.["app.kubernetes.io/managed-by"] === "argosy",
      );
      assert.deepEqual(
        managed.map(({ metadata }) => metadata.name),
        [],
      );
    }
  });

  it("leaves no child in the user's namespace", async () => {
    for (const form of Object.values(FORMS)) {
      await waitFor("the children to go", () => session().api.assertGone(form.child("alive")));
    }
  });
});
