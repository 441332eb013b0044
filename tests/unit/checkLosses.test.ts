import assert from "node:assert/strict";
import { checkLosses, type Makes } from "../../preflight/checkLosses";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { fakeLook, found, SHOP } from "./support/fakeLook";

const DEFINITIONS = {
  "app.kubernetes.io/component": "definitions",
  "app.kubernetes.io/managed-by": "argosy",
};

const KEEPING =
  "https://github.com/argosy-dev/argosy/blob/main/docs/configuration.md#what-cannot-change-later says how to keep them.";
const LATER =
  "If the program creates such a platform, but only after it has awaited an output of another component, create the platform first, and await the output after that.";

describe("checkLosses", () => {
  const object = (kind: string, name: string, program?: string, product?: string): KubernetesObject => ({
    ...found({
      name,
      ...(product !== undefined && { labels: { ...DEFINITIONS, "app.kubernetes.io/name": product } }),
      ...(program !== undefined && { annotations: { "argosy.dev/program": program } }),
    }),
    kind,
  });
  const crd = (plural: string, program: string | undefined, product: string) =>
    object("CustomResourceDefinition", `${plural}.argoproj.io`, program, product);
  const objectsOf = (program: string | undefined) => [
    crd("workflows", program, "argo-workflows"),
    crd("cronworkflows", program, "argo-workflows"),
    crd("sensors", program, "argo-events"),
    object("Namespace", "argosy", program),
    object("Namespace", "argosy-system", program),
  ];
  const NONE: Makes = async () => false;
  const lookAt = (objects: readonly KubernetesObject[]) => {
    const isNamespace = ({ kind }: KubernetesObject) => kind === "Namespace";
    return {
      allNamespaces: objects.filter(isNamespace),
      argoDefinitions: objects.filter((each) => !isNamespace(each)),
    };
  };
  const problemsOf = async (objects: readonly KubernetesObject[], makes: Makes) =>
    (await checkLosses(fakeLook(lookAt(objects)), { ...SHOP, makes })).problems;

  it("refuses what bears the program's mark, and no component makes, with the ways to keep it or to give it up", async () => {
    const ofHalf = (title: string, argument: string, product: string) =>
      `pulumi up would delete the CRDs of ${title} that this stack installed, with all their objects in the whole cluster, because no platform of the program has ${argument} "install". Set ${argument} to "install" again. ${LATER} ${KEEPING} If they may be deleted: kubectl annotate crd --selector app.kubernetes.io/name=${product},app.kubernetes.io/component=definitions argosy.dev/program-`;
    const ofNamespace = (name: string) =>
      `pulumi up would delete the namespace ${name} that this stack created, with everything in it, because no platform of the program creates it. Undo the change of namespace, controllerNamespace or createNamespaces, or of who installs the controllers. ${LATER} ${KEEPING} If it may be deleted: kubectl annotate namespace ${name} argosy.dev/program-`;
    assert.deepEqual(await problemsOf(objectsOf("acme/shop/dev"), NONE), [
      ofHalf("Argo Events", "argoEvents", "argo-events"),
      ofHalf("Argo Workflows", "argoWorkflows", "argo-workflows"),
      ofNamespace("argosy"),
      ofNamespace("argosy-system"),
    ]);
  });

  it("warns only, if a later component that this process does not see may make it", async () => {
    const look = fakeLook(lookAt(objectsOf("acme/shop/dev")));
    const findings = async (makes: Makes) => await checkLosses(look, { ...SHOP, isWhole: false, makes });
    const lost = await findings(
      async ({ metadata }) => !/^(argosy|sensors.argoproj.io)$/.test(metadata.name),
    );
    assert.deepEqual(lost, {
      problems: [],
      warnings: [
        `pulumi up deletes the CRDs of Argo Events that this stack installed, with all their objects in the whole cluster, unless a platform of a later component of the program has argoEvents "install". If there is no such platform, these objects are lost. Set argoEvents to "install" again. ${KEEPING}`,
        `pulumi up deletes the namespace argosy that this stack created, with everything in it, unless a platform of a later component of the program creates it. If there is no such platform, these objects are lost. Undo the change of namespace, controllerNamespace or createNamespaces, or of who installs the controllers. ${KEEPING}`,
      ],
    });
    assert.deepEqual(await findings(async () => true), { problems: [], warnings: [] });
  });

  it("says that it may be another stack's, if a backend without organizations lets two stacks have one name", async () => {
    const program = "organization/shop/dev";
    const look = fakeLook(lookAt(objectsOf(program)));
    const textsOf = async (isWhole: boolean) => {
      const { problems, warnings = [] } = await checkLosses(look, { program, isWhole, makes: NONE });
      return [...problems, ...warnings];
    };
    const hint = (objects: string) =>
      `If a stack of the name ${program} in another backend of Pulumi ${objects}, rename this stack: pulumi stack rename.`;
    for (const texts of [await textsOf(true), await textsOf(false)]) {
      assert.equal(texts.length, 4);
      assert.ok(texts[0]?.includes(hint("installed the CRDs of Argo Events")), texts[0]);
      assert.ok(texts[2]?.includes(hint("created the namespace argosy")), texts[2]);
    }
  });

  it("refuses nothing that the program makes", async () => {
    const all = objectsOf("acme/shop/dev");
    assert.deepEqual(await problemsOf(all, async () => true), []);
    const butOne: Makes = async ({ metadata }) => metadata.name !== "argosy-system";
    assert.equal((await problemsOf(all, butOne)).length, 1);
  });

  it("refuses nothing of others, nothing without a mark, and nothing that goes anyway", async () => {
    assert.deepEqual(await problemsOf(objectsOf("acme/shop/prod"), NONE), []);
    assert.deepEqual(await problemsOf(objectsOf(undefined), NONE), []);
    const going = objectsOf("acme/shop/dev").map((each) => ({
      ...each,
      metadata: { ...each.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    }));
    assert.deepEqual(await problemsOf(going, NONE), []);
  });

  it("refuses what it sees, also if it does not see the rest", async () => {
    const { allNamespaces, argoDefinitions } = lookAt(objectsOf("acme/shop/dev"));
    const lossesIn = async (seen: Parameters<typeof fakeLook>[0]) =>
      (await checkLosses(fakeLook(seen), { ...SHOP, makes: NONE })).problems.length;
    assert.equal(await lossesIn({ allNamespaces }), 2);
    assert.equal(await lossesIn({ argoDefinitions }), 2);
    assert.equal(await lossesIn({}), 0);
  });
});
