import assert from "node:assert/strict";
import type { JsonObject, Manifest } from "../../runtime/base/objects";
import { inNamespace } from "./support/manifests";
import { answering, useOperator } from "./support/useOperator";

const GROUP = "rbac.authorization.k8s.io";
const rbac = (kind: string) => ({ apiVersion: `${GROUP}/v1`, kind });

const CONFIG_MAPS = { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] };

const role = (name: string, ...rules: JsonObject[]): Manifest => ({
  ...rbac("Role"),
  metadata: { name },
  rules,
});
const binding = (name: string, kind: string, to: string): Manifest => ({
  ...rbac("RoleBinding"),
  metadata: { name },
  roleRef: { apiGroup: GROUP, kind, name: to },
  subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
});

describe("an operator whose children grant rights", function () {
  this.timeout(120_000);
  const bench = useOperator({
    name: "granting",
    children: [rbac("Role"), { ...rbac("RoleBinding"), update: "recreate" }],
    grants: [CONFIG_MAPS, "ClusterRole/view"],
  });
  const here = (manifest: Manifest) => inNamespace(manifest, bench.namespace);

  it("grants what it declares, or less: a role, a binding of that, and a binding of an existing role", async () => {
    await bench.applied(
      "declared",
      answering(
        binding("own", "Role", "own"),
        binding("theirs", "ClusterRole", "view"),
        role("own", CONFIG_MAPS),
        role("less", { ...CONFIG_MAPS, verbs: ["get"], resourceNames: ["one"] }),
      ),
    );
    for (const name of ["own", "less"]) await bench.api.get(here(role(name)));
    for (const name of ["own", "theirs"]) await bench.api.get(here(binding(name, "", "")));
  });

  for (const [what, child, missing] of [
    [
      "a right that is not declared",
      role("more", CONFIG_MAPS, { apiGroups: ["apps"], resources: ["deployments"], verbs: ["delete"] }),
      '{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["delete"] }',
    ],
    [
      "a wildcard",
      role("more", { apiGroups: ["*"], resources: ["*"], verbs: ["*"] }),
      '{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }',
    ],
    ["an existing role that is not declared", binding("more", "ClusterRole", "edit"), "ClusterRole/edit"],
    ["all rights of a cluster", binding("more", "ClusterRole", "cluster-admin"), "ClusterRole/cluster-admin"],
  ] as const) {
    it(`is refused a role or a binding beyond its grants, and told where to declare what is missing: ${what}`, async () => {
      const { message } = await bench.failed(
        await bench.applyObject("beyond", answering(child)),
        "ChildRefused",
      );
      assert.match(message, /RBAC permissions not currently held/);
      assert.ok(message.includes(` Add this to grants in operator.yaml: [${missing}`), message);
      assert.deepEqual(await bench.api.list(rbac(child.kind), bench.namespace), []);
    });
  }

  it("says that a binding refers to a missing role, and binds it when it exists", async () => {
    const object = await bench.applyObject("early", answering(binding("early", "Role", "late")));
    const { message } = await bench.failed(object, "ChildRefused");
    assert.match(message, /The role Role\/late does not exist: return it too, or create it\./);
    await bench.api.create(here(role("late", CONFIG_MAPS)));
    await bench.ready(object);
  });

  it("lets a binding refer to another role, where its kind is recreated", async () => {
    await bench.applied(
      "moved",
      answering(role("own", CONFIG_MAPS), binding("moved", "ClusterRole", "view")),
    );
    await bench.applied("moved", answering(role("own", CONFIG_MAPS), binding("moved", "Role", "own")));
    const found = await bench.api.get(here(binding("moved", "", "")));
    assert.deepEqual(found["roleRef"], { apiGroup: GROUP, kind: "Role", name: "own" });
  });
});
