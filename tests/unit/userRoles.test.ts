import assert from "node:assert/strict";
import { buildOperator } from "../../components/manifests/operator/operator";
import type { Manifest } from "../../runtime/base/objects";
import type { PolicyRule } from "../../runtime/operator/definition";
import { operatorOptions, withFiles } from "./operatorManifests";
import { operator } from "./support/objects";

const AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-";

/** What a role of Kubernetes' own gets: "shop.example.com/presss: get,list,watch". */
function gainedBy(role: string, manifests: readonly Manifest[]): string[] {
  return manifests
    .filter(
      ({ kind, metadata }) => kind === "ClusterRole" && metadata.labels?.[`${AGGREGATE}${role}`] === "true",
    )
    .flatMap(({ rules }) => rules as PolicyRule[])
    .map(({ apiGroups, resources, verbs }) => `${apiGroups}/${resources}: ${verbs}`);
}

describe("userRoles", () => {
  const manifestsOf = (userRoles: boolean) =>
    (["resident", "pod"] as const).flatMap((execution) => {
      const name = execution === "pod" ? "press" : "gear";
      const customResource = { ...operator().customResource, group: "shop.example.com", plural: `${name}s` };
      const rules = [{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }];
      const more = {
        name,
        execution,
        customResource,
        rules,
        namespaces: ["team-a"],
        ...(userRoles && { userRoles }),
      };
      const { operator: made, files } = withFiles(more);
      return Object.values(buildOperator(made, operatorOptions(), files).parts);
    });

  it("gives Kubernetes' roles the kinds, and nothing else: no user writes a status", () => {
    const manifests = manifestsOf(true);
    const rules = (...verbs: string[]) =>
      ["gears", "presss"].map((plural) => `shop.example.com/${plural}: ${verbs}`);
    const statuses = ["gears", "presss"].map((plural) => `shop.example.com/${plural}/status: get`);
    const view = [...rules("get", "list", "watch"), ...statuses].sort();
    const edit = [...view, ...rules("create", "update", "patch", "delete", "deletecollection")].sort();
    assert.deepEqual(gainedBy("view", manifests).sort(), view);
    assert.deepEqual(gainedBy("edit", manifests).sort(), edit);
    assert.deepEqual(gainedBy("admin", manifests).sort(), edit);
    // No binding of ours grants these roles.
    const users = manifests
      .filter(({ metadata }) => metadata.name.includes("-users-"))
      .map(({ kind }) => kind);
    assert.deepEqual([...new Set(users)], ["ClusterRole"]);
  });

  it("is off by default, and then nothing is added to a role of Kubernetes' own", () => {
    const manifests = manifestsOf(false);
    for (const role of ["view", "edit", "admin"]) assert.deepEqual(gainedBy(role, manifests), []);
  });
});
