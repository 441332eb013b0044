import assert from "node:assert/strict";
import path from "node:path";
import { createReady, FORMS, LETTER, readyIs } from "./support/forms";
import { session } from "./support/hooks";
import type { Installation } from "./support/installation";
import { olderProgram } from "./support/olderProgram";
import { LONG_MS, tell } from "./support/progress";
import { presentProgram } from "./support/projectCopy";
import { Writer } from "./support/writer";

const KEPT = [
  { form: LETTER, name: "kept-letter" },
  { form: FORMS.pod, name: "kept-report" },
] as const;
/** How many changes are made before and after the update. */
const CHANGES = 4;

describe("pulumi up on a stack of an older version of the package", function () {
  this.timeout(LONG_MS);
  const writers = [LETTER, FORMS.pod].map((form) => new Writer(form));
  const childOf = new Map<string, string>();
  let installation: Installation;

  before(async function () {
    const program = await olderProgram();
    if (program === undefined) {
      process.stderr.write("      skipped: git's history has no older program here\n");
      return this.skip();
    }
    installation = await session().anotherInstallation("upgrade");
    const { project } = installation;
    project.takeAway("memcached");
    project.addLetters();
    const older = path.join(project.state, "older");
    program.install(older);
    project.takeProgram(older);
    tell(`the program of ${program.name}`);
    await installation.up();
    for (const { form, name } of KEPT) {
      await createReady(form, name, 1);
      childOf.set(name, (await session().api.get(form.child(name))).metadata.uid);
    }
  });

  after(async () => {
    for (const writer of writers) {
      await writer.stop();
      await writer.clear();
    }
    for (const { form, name } of installation ? KEPT : []) await session().api.delete(form.object(name, 0));
  });

  it("goes well while objects are made, changed and deleted", async () => {
    for (const writer of writers) writer.start();
    for (const writer of writers) await writer.further(CHANGES);
    installation.project.takeProgram(presentProgram());
    const { summary, replaced } = await installation.stack.up();
    tell(`an upgrade: ${JSON.stringify(summary.resourceChanges)}`);
    assert.equal(summary.result, "succeeded");
    // An immutable ConfigMap has its content's hash in its name. Everything else keeps what it has.
    assert.deepEqual(
      replaced.filter((type) => type !== "kubernetes:core/v1:ConfigMap"),
      [],
    );
    for (const writer of writers) await writer.further(CHANGES);
  });

  it("loses none of these changes", async () => {
    for (const writer of writers) await writer.stop();
    for (const writer of writers) await writer.assertAllHandled();
  });

  it("keeps what was not changed, and goes on to handle it", async () => {
    for (const { form, name } of KEPT) {
      await readyIs(form, name, { status: "True", reason: "Reconciled" });
      assert.equal((await session().api.get(form.child(name))).metadata.uid, childOf.get(name));
      await session().api.patch(form.object(name, 0), { spec: { pages: 2 } });
      await readyIs(form, name, { status: "True", reason: "Reconciled" });
    }
  });

  it("leaves nothing for the next one to do", async () => {
    const { summary } = await installation.stack.up({ expectNoChanges: true });
    assert.deepEqual(Object.keys(summary.resourceChanges ?? {}), ["same"]);
  });
});
