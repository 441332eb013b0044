import assert from "node:assert/strict";
import { until } from "../../cli/common/until";
import { buildUserRoles } from "../../components/manifests/operator/rbac";
import type { Manifest } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
import { mayDo, parseCall } from "./support/accessReview";
import { sharedCluster } from "./support/cluster";

describe("an operator with userRoles", function () {
  this.timeout(60_000);
  before(async function () {
    this.timeout(0);
    await sharedCluster();
  });

  it("lets who views, edits or administers a namespace do so with its objects there, but for their status", async () => {
    const { api } = await sharedCluster();
    const home = await api.newNamespace("users");
    const identity = { name: "roles", installation: "argosy" };
    const customResource = {
      group: "roles.example.com",
      version: "v1",
      kind: "Gear",
      plural: "gears",
      namespaced: true,
    };
    const operator = { ...identity, customResource, userRoles: true } as unknown as Operator;
    for (const role of Object.values(buildUserRoles(operator))) await api.apply(role);
    for (const name of ["view", "edit", "admin"]) await api.apply(bindingOf(name, home));
    const may = (name: string, call: string) => mayDo(api, `${home}/${name}`, parseCall(call));

    // A controller adds the rules to Kubernetes' own roles.
    for (const call of ["view list", "admin create"]) {
      const [name = "", verb] = call.split(" ");
      const has = () => may(name, `${verb} gears.roles.example.com in ${home}`);
      await until(has, { what: `${name} has got its rights`, deadlineMs: 50_000 });
    }
    const calls = ["get", "create", "patch", "delete"].map((verb) => `${verb} gears.roles.example.com`);
    const status = ["get", "patch"].map((verb) => `${verb} gears/status.roles.example.com`);
    const found: Record<string, string[]> = {};
    for (const name of ["view", "edit", "admin"]) {
      found[name] = [];
      for (const call of [...calls, ...status]) {
        if (await may(name, `${call} in ${home}`)) found[name].push(call);
        assert.equal(await may(name, `${call} in default`), false, call);
      }
    }
    const [get = "", ...writes] = calls;
    const [getStatus = ""] = status;
    assert.deepEqual(found, {
      view: [get, getStatus],
      edit: [get, ...writes, getStatus],
      admin: [get, ...writes, getStatus],
    });
  });
});

/** Gives one of Kubernetes' roles to an account of that name. */
function bindingOf(name: string, namespace: string): Manifest {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name, namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  };
}
