import assert from "node:assert/strict";
import { assertChild, CRASHES, createReady, FORMS, HANGS, readyIs, runIn, TOO_MANY } from "./support/forms";
import { session } from "./support/hooks";
import { kubectl, needKubectl } from "./support/kubectl";
import { waitFor } from "./support/progress";
import { NAMESPACE } from "./support/session";
import { outputOf, runOf, statusOf } from "./support/workflows";

for (const form of Object.values(FORMS)) {
  describe(`an object of an operator of the form "${form.execution}"`, () => {
    before(async () => {
      await session().up();
    });

    it("gets its children and becomes Ready, in a namespace of a user's", async () => {
      await createReady(form, "main", 1);
      await assertChild(form, "main", 1);
    });

    it("is followed when it changes", async () => {
      await session().api.patch(form.object("main", 1), {
        spec: form.object("main", 2)["spec"] as object as never,
      });
      await waitFor("the child to follow", () => assertChild(form, "main", 2));
      await readyIs(form, "main", { status: "True", reason: "Reconciled" });
    });

    it("has a child that was edited by hand put right", async () => {
      await session().api.patch(form.child("main"), form.content(7));
      await waitFor("the child to be put right", () => assertChild(form, "main", 2), 180_000);
    });

    it("is told what is wrong with it where the handler refuses it", async () => {
      await session().api.create(form.object("refused", TOO_MANY));
      const { message } = await readyIs(form, "refused", { status: "False", reason: "HandlerError" });
      assert.match(message, /51 .*more than 50/);
      await session().api.assertGone(form.child("refused"));
    });

    it("is told that its handler has crashed; the run has its standard error", async function () {
      await session().api.create(form.object("crashes", CRASHES));
      const ready = await readyIs(form, "crashes", { status: "False", reason: "HandlerCrashed" });
      assert.match(ready.message, /exit code [13]/);
      const run = runIn(ready);
      await waitFor(`run ${run} to fail`, async () => {
        const status = statusOf(await session().api.get(runOf(run)));
        assert.equal(status.phase, "Failed");
        if (form.execution === "resident")
          assert.match(outputOf(status, "log") ?? "", /the cellar is flooded/);
      });
      if (form.execution === "resident") return;
      needKubectl(this);
      const ofRun = ["--selector", `workflows.argoproj.io/workflow=${run}`, "--all-containers"];
      assert.match(await kubectl("logs", "--namespace", NAMESPACE, ...ofRun), /the cellar is flooded/);
    });

    it("is told that its handler hangs", async () => {
      await session().api.create(form.object("hangs", HANGS));
      await readyIs(form, "hangs", { status: "False", reason: "HandlerTimedOut" });
    });

    it("takes its children along when it is deleted", async () => {
      for (const name of ["main", "refused", "crashes", "hangs"]) {
        await session().api.delete(form.object(name, 0));
      }
      await waitFor("all of it to go", async () => {
        await session().api.assertGone(form.object("main", 0));
        await session().api.assertGone(form.child("main"));
      });
    });
  });
}
