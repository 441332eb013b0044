import assert from "node:assert/strict";
import { assertChild, createReady, FORMS } from "./support/forms";
import { session } from "./support/hooks";
import { waitFor } from "./support/progress";
import { NAMESPACE } from "./support/session";
import { outputOf, resubmit, runOf, submit, succeeds } from "./support/workflows";

for (const form of Object.values(FORMS)) {
  describe(`the Workflow API, with an operator of the form "${form.execution}"`, () => {
    let first = "";
    before(async () => {
      await session().up();
    });

    it("shows the run that made an object's children, and runs it once more where it is resubmitted", async () => {
      first = await createReady(form, "seen", 1);
      await succeeds(first);
      await session().api.patch(form.child("seen"), form.content(3));
      await succeeds(await resubmit(first));
      await assertChild(form, "seen", 1);
    });

    it("reconciles the object that is named to the template", async () => {
      await session().api.patch(form.child("seen"), form.content(3));
      await succeeds(await submit(form.operator, { namespace: session().team, name: "seen" }));
      await assertChild(form, "seen", 1);
    });

    it("tries the handler on an example alone, and applies nothing", async () => {
      const object = JSON.stringify(form.object("example", 4));
      const status = await succeeds(await submit(form.operator, { object }));
      const { children } = JSON.parse(outputOf(status, "answer") ?? "{}");
      assert.equal(form.countIn(children[0]), 4);
      await session().api.assertGone(form.child("example"));
      await session().api.assertGone(form.object("example", 0));
    });

    it("forgets a run, and its pod, when its time has come", async () => {
      await waitFor(`run ${first} to go`, () => session().api.assertGone(runOf(first)), 180_000);
      await waitFor("its pod to go", async () => {
        const pods = await session().api.list({ apiVersion: "v1", kind: "Pod" }, NAMESPACE);
        const runs = pods.map(({ metadata }) => metadata.labels?.["workflows.argoproj.io/workflow"]);
        assert.ok(!runs.includes(first));
      });
      await session().api.get(form.object("seen", 0));
    });
  });
}
