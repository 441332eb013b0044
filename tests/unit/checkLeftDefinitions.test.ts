import assert from "node:assert/strict";
import { checkLeftDefinitions } from "../../preflight/checkLeftDefinitions";
import type { OperatorNames } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import { fakeLook, found, SHOP } from "./support/fakeLook";

describe("checkLeftDefinitions", () => {
  const KEPT = { "pulumi.com/patchFieldManager": "argosy-it" };
  const crd = (name: string, program?: string, operator = `shop.${name}`, kept = {}): KubernetesObject => ({
    ...found({
      name: `${name}s.example.com`,
      labels: { "argosy.dev/operator": operator },
      annotations: { ...(program !== undefined && { "argosy.dev/program": program }), ...kept },
    }),
    spec: {
      group: "example.com",
      names: { kind: "Greeting", plural: "greetings" },
      versions: [
        { name: "v1alpha1", served: false },
        { name: "v1", served: true },
      ],
    },
  });
  const check = (
    operatorDefinitions: readonly KubernetesObject[] | undefined,
    {
      keeps = true,
      count = 1 as number | "unseen",
      has = (_: string): boolean => false,
      operators = [] as OperatorNames[],
    } = {},
  ) => {
    const look = {
      ...fakeLook({ ...(operatorDefinitions && { operatorDefinitions }) }),
      countOf: async ({ apiVersion, plural }: { apiVersion: string; plural: string }) => {
        assert.deepEqual([apiVersion, plural], ["example.com/v1", "greetings"]);
        return count === "unseen" ? undefined : count;
      },
    };
    return checkLeftDefinitions(look, { installation: "shop", ...SHOP, operators, keeps, has });
  };
  const ours = "acme/shop/dev";
  const WHAT =
    "the CRD greetings.example.com of the operator greeting, which is no longer in the program, with 1 Greeting and its children";

  it("says what stays and how much, and how to delete it or to hear no more of it", async () => {
    const kept = [crd("greeting", ours, undefined, KEPT)];
    for (const keeps of [true, false]) {
      assert.deepEqual(await check(kept, { keeps }), {
        problems: [],
        warnings: [
          `${WHAT} stays in the cluster, and no operator reconciles these objects. To delete them all: kubectl delete crd greetings.example.com, while the operator is deployed. To hear no more of it: kubectl annotate crd greetings.example.com argosy.dev/program-`,
        ],
      });
    }
  });

  it("says what is deleted and how much, if the program wants that", async () => {
    assert.deepEqual(await check([crd("greeting", ours)], { keeps: false }), {
      problems: [],
      warnings: [`unless it is protected, pulumi up deletes ${WHAT}. With data "keep" they stay.`],
    });
  });

  it("refuses what Pulumi would delete against the program's will, since only the next pulumi up keeps it", async () => {
    assert.deepEqual(await check([crd("greeting", ours)]), {
      problems: [
        `pulumi up would delete ${WHAT}: data is "keep" now, and was not in the last pulumi up. Put the operator back, run pulumi up, and then take it out.`,
      ],
      warnings: [],
    });
  });

  for (const [what, name, formerNames] of [
    ["", "greeting", []],
    [" and another name", "hello", ["greeting"]],
  ] as const)
    it(`refuses to delete objects whose operator has another kind${what}: no operator would finalize them`, async () => {
      const operators = [{ installation: "shop", name, formerNames: [...formerNames] }];
      const checked = (count: number | "unseen", crds = [crd("greeting", ours)]) =>
        check(crds, { keeps: false, count, operators });
      const text =
        "pulumi up would delete the CRD greetings.example.com of the operator greeting, which now has another kind, with 1 Greeting and its children, and no operator would finalize these objects. Delete them first, while the operator is deployed as before: kubectl delete greetings.example.com --all --all-namespaces. Or give the operator of the new kind another name.";
      assert.deepEqual(await checked(1), { problems: [text], warnings: [] });
      assert.equal((await checked("unseen")).problems.length, 1);
      assert.deepEqual((await checked(0)).problems, []);
      assert.deepEqual((await checked(1, [crd("greeting", ours, undefined, KEPT)])).problems, []);
    });

  it("says how to delete a CRD without objects", async () => {
    const { warnings } = await check([crd("greeting", ours, undefined, KEPT)], { count: 0 });
    const text =
      /with no object stays in the cluster\. To delete it: kubectl delete crd greetings\.example\.com\. /;
    assert.match(warnings?.join("") ?? "", text);
  });

  it("counts", async () => {
    const textFor = async (count: number | "unseen") =>
      (await check([crd("greeting", ours)], { keeps: false, count })).warnings?.join("") ?? "";
    assert.match(await textFor(0), /with no object\. /);
    assert.match(await textFor(12), /with 12 objects Greeting and their children\. /);
    assert.match(await textFor("unseen"), /with all its objects and their children\. /);
  });

  it("says nothing of other programs' CRDs, of the program's own, of deleted ones, or if the cluster shows none", async () => {
    const going = crd("greeting", ours);
    const others = [
      crd("greeting", "acme/shop/prod"),
      crd("greeting"),
      crd("greeting", ours, "billing.greeting"),
      { ...going, metadata: { ...going.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } },
    ];
    const nothing = { problems: [], warnings: [] };
    assert.deepEqual(await check(others), nothing);
    assert.deepEqual(await check([crd("greeting", ours)], { has: () => true }), nothing);
    assert.deepEqual(await check(undefined), nothing);
  });
});
