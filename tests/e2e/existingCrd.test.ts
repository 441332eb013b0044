import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse, stringify } from "yaml";
import { TAKEN_BACK } from "../../components/manifests/metadata";
import type { JsonObject, KubernetesObject } from "../../runtime/base/objects";
import { eventually } from "../support/eventually";
import { assertChild, FORMS, readyIs } from "./support/forms";
import { session } from "./support/hooks";
import type { Installation } from "./support/installation";
import { kubectl, needKubectl } from "./support/kubectl";
import { LONG_MS, waitFor } from "./support/progress";
import { Shell } from "./support/shell";

const { resident } = FORMS;
const CRD_FILE = "handlers/memcached/crd.yaml";
const CRD = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "memcacheds.cache.example.com" },
};
const READY = { status: "True", reason: "Reconciled" } as const;
const UP = "pulumi up --yes --non-interactive";
/** What is kept would be in the way of every other test. */
const DELETE = `pulumi config set data delete && ${UP} < /dev/null`;
const NOT_REFUSED = "@@ not refused @@";

/** As docs/tasks/take-over.md says of a CRD that another operator has left. */
describe("a CRD that kubectl has applied, with an object", function () {
  this.timeout(LONG_MS);
  let installation: Installation;
  let bringReport: () => void;
  let isDestroyed = false;
  let shell: Shell;
  let theirs: { crd: KubernetesObject; object: KubernetesObject };

  before(async function () {
    needKubectl(this);
    const { api } = session();
    installation = await session().anotherInstallation("existing-crd", { settings: { data: "keep" } });
    const { project, stack } = installation;
    bringReport = project.takeAway("report");
    const file = path.join(project.folder, "theirs.yaml");
    writeFileSync(file, stringify(theirsOf(readFileSync(path.join(project.folder, CRD_FILE), "utf8"))));
    await kubectl("apply", "--filename", file);
    const object = await eventually(() => api.create(resident.object("heir", 2)));
    theirs = { crd: await api.get(CRD), object };
    shell = new Shell(project.folder, await stack.shellEnvironment());
  });

  after(async () => {
    if (!isDestroyed) await shell?.run(DELETE).catch(() => {});
    shell?.end();
    // It is the stack's in the end, unless something went wrong.
    await session().destroyAll();
    await session().api.delete(CRD);
  });

  it("is neither taken nor changed by pulumi up, and no runner works on its object", async () => {
    const printed = await shell.run(`if ${UP} < /dev/null; then echo '${NOT_REFUSED}'; fi`);
    assert.ok(!printed.includes(NOT_REFUSED), printed);
    assert.match(printed, /memcacheds\.cache\.example\.com.*already\s+exists/s);
    assert.match(printed, /a\s+kind\s+has\s+one\s+operator\s+in\s+a\s+cluster/);
    const { metadata, spec } = await session().api.get(CRD);
    assert.equal(metadata.uid, theirs.crd.metadata.uid);
    assert.deepEqual(spec, theirs.crd["spec"]);
    assert.equal(await uidOfHeir(), theirs.object.metadata.uid);
    await session().api.assertGone(resident.child("heir"));
  });

  it("is taken over with the annotation, and its object is served", async () => {
    rewriteCrd(installation, TAKEN_BACK);
    await installation.up();
    const crd = await session().api.get(CRD);
    assert.equal(crd.metadata.uid, theirs.crd.metadata.uid);
    await readyIs(resident, "heir", READY);
    await assertChild(resident, "heir", 2);
    assert.equal(await uidOfHeir(), theirs.object.metadata.uid);
  });

  it("has nothing to be done to it by the next pulumi up", async () => {
    const { summary } = await installation.stack.up({ expectNoChanges: true });
    assert.deepEqual(Object.keys(summary.resourceChanges ?? {}), ["same"]);
  });

  it("needs the annotation no more", async () => {
    rewriteCrd(installation, {});
    await installation.stack.up();
    rewriteCrd(installation, {}, ["mc", "memc"]);
    await installation.stack.up();
    const { spec } = await session().api.get(CRD);
    assert.deepEqual((spec as { names: JsonObject }).names["shortNames"], ["mc", "memc"]);
    assert.equal(await uidOfHeir(), theirs.object.metadata.uid);
  });

  it("stays if the component has another name, and its former name as an alias", async () => {
    const { project, stack } = installation;
    const args = '{ handlers: "./handlers" }';
    project.edit(
      "index.js",
      `("argosy", ${args})`,
      `("renamed", ${args}, { aliases: [{ name: "argosy" }] })`,
    );
    const { summary } = await stack.up();
    assert.deepEqual(
      [summary.resourceChanges?.create, summary.resourceChanges?.delete],
      [undefined, undefined],
    );
    assert.equal((await session().api.get(CRD)).metadata.uid, theirs.crd.metadata.uid);
    assert.equal(await uidOfHeir(), theirs.object.metadata.uid);
  });

  it("stays with its object while the operator's folder is away, and is served again when it is back", async () => {
    const { project, stack } = installation;
    bringReport();
    const bringBack = project.takeAway("memcached");
    const { stdout } = await stack.up();
    assert.match(stdout, /memcacheds\.cache\.example\.com.*\b1\s+Memcached\b.*stays/s);
    assert.equal(await uidOfHeir(), theirs.object.metadata.uid);
    bringBack();
    await stack.up();
    await isServed(3);
  });

  it("stays with its object after pulumi destroy, and is served again after the next pulumi up", async () => {
    const { stack } = installation;
    await stack.destroy();
    assert.equal((await session().api.get(CRD)).metadata.uid, theirs.crd.metadata.uid);
    await stack.up();
    await isServed(4);
  });

  async function isServed(size: number): Promise<void> {
    const { spec } = resident.object("heir", size);
    await session().api.patch(resident.object("heir", 0), { spec: spec as JsonObject });
    await waitFor("the child to follow", () => assertChild(resident, "heir", size));
    assert.equal(await uidOfHeir(), theirs.object.metadata.uid);
  }

  it("is deleted by pulumi destroy, with its object, once the stack says so", async () => {
    await shell.run(DELETE);
    await installation.destroy();
    isDestroyed = true;
    await session().api.assertGone(CRD);
    await waitFor("the child to go", () => session().api.assertGone(resident.child("heir")));
  });
});

async function uidOfHeir(): Promise<string> {
  return (await session().api.get(resident.object("heir", 0))).metadata.uid;
}

/** The operator's CRD as another operator's author would have written it: in other words, without our annotation. */
function theirsOf(file: string): JsonObject {
  const crd = parse(file) as JsonObject & {
    spec: { versions: { schema: { openAPIV3Schema: JsonObject } }[] };
  };
  for (const { schema } of crd.spec.versions) schema.openAPIV3Schema["description"] = "Theirs.";
  return crd;
}

/** Writes the operator's CRD again, with these annotations and no others, and with these short names of its kind. */
function rewriteCrd(
  { project }: Installation,
  annotations: Readonly<Record<string, string>>,
  shortNames = ["mc"],
): void {
  const file = path.join(project.folder, CRD_FILE);
  const { metadata, spec, ...rest } = parse(readFileSync(file, "utf8"));
  const names = { ...spec.names, shortNames };
  const crd = { ...rest, metadata: { name: metadata.name, annotations }, spec: { ...spec, names } };
  writeFileSync(file, stringify(crd));
}
