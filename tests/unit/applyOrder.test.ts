import assert from "node:assert/strict";
import fc from "fast-check";
import { inApplyOrder } from "../../runtime/write/desiredChildren";

describe("inApplyOrder", () => {
  const kindsIn = (...kinds: string[]) =>
    inApplyOrder(kinds.map((kind) => ({ resource: { kind } }))).map((group) =>
      group.map(({ resource }) => resource.kind),
    );

  it("puts first what others need to exist", () => {
    assert.deepStrictEqual(
      kindsIn("Deployment", "RoleBinding", "ConfigMap", "Namespace", "Service", "ServiceAccount", "Role"),
      [["Namespace"], ["ConfigMap", "ServiceAccount", "Role"], ["RoleBinding"], ["Deployment", "Service"]],
    );
  });

  it("makes no group of nothing", () => {
    assert.deepStrictEqual(kindsIn(), []);
    assert.deepStrictEqual(kindsIn("Widget"), [["Widget"]]);
  });

  it("loses no child, and keeps the order within a kind", () => {
    const child = fc.record({
      resource: fc.record({ kind: fc.constantFrom("Namespace", "Secret", "RoleBinding", "Job", "Widget") }),
      id: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(child), (children) => {
        const flat = inApplyOrder(children).flat();
        assert.equal(flat.length, children.length);
        for (const { resource } of children) {
          const sameKind = (other: (typeof children)[number]) => other.resource.kind === resource.kind;
          assert.deepStrictEqual(flat.filter(sameKind), children.filter(sameKind));
        }
      }),
    );
  });
});
