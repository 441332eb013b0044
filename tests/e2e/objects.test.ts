import assert from "node:assert/strict";
import type { JsonObject } from "../../runtime/base/objects";
import { argosy } from "./support/argosy";
import {
  assertChild,
  CRASHES,
  createReady,
  eventTells,
  FORMS,
  HANGS,
  readyIs,
  runIn,
  TOO_MANY,
} from "./support/forms";
import { session } from "./support/hooks";
import { kubectl, needKubectl } from "./support/kubectl";
import { waitFor } from "./support/progress";
import { NAMESPACE } from "./support/session";
import { fails, outputOf } from "./support/workflows";

/** Twenty changes a second. */
const CHANGES = 200;
const PAUSE_MS = 50;
const WRONG = { hangs: HANGS, crashes: CRASHES, refused: TOO_MANY };
const CRASHED = /the handler ended with exit code [13]/;
const LATE = /the handler gave no answer within \d+ s/;

let made: Promise<void> | undefined;

/** Those of both forms at once, the longest first: they take their time while others are looked at. */
function wrongObjects(): Promise<void> {
  const make = async () => {
    for (const [name, count] of Object.entries(WRONG))
      for (const form of Object.values(FORMS)) await session().api.create(form.object(name, count));
  };
  made ??= make();
  return made;
}

for (const form of Object.values(FORMS)) {
  describe(`an object of an operator of the form "${form.execution}"`, () => {
    before(async () => {
      await session().up();
      await wrongObjects();
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

    it("is explained with the steps of its last run", async () => {
      const { kind } = form.object("main", 0);
      const steps =
        /steps of \S+:\n(?: +\+\d+\.\d ms +\d+\.\d ms +.+\n)* +\+\d+\.\d ms +\d+\.\d ms +handler\n/;
      // A run in a pod of its own has noted them when its pod has ended.
      await waitFor("the steps", async () => {
        const text = await argosy("explain", `${kind.toLowerCase()}/main`, "--namespace", session().team);
        assert.match(text, steps);
        assert.match(text, new RegExp(`ms +\\w+ ${form.child("main").kind} main`));
      });
    });

    it("is told what is wrong with it where the handler refuses it", async () => {
      const ready = await readyIs(form, "refused", { status: "False", reason: "HandlerError" });
      assert.match(ready.message, /51 .*more than 50/);
      assert.match(await eventTells(form, "refused", "HandlerError", runIn(ready)), /51 .*more than 50/);
      await session().api.assertGone(form.child("refused"));
    });

    it("is told that its handler has crashed, by its condition, its Event and the run", async function () {
      const ready = await readyIs(form, "crashes", { status: "False", reason: "HandlerCrashed" });
      assert.match(ready.message, CRASHED);
      const run = runIn(ready);
      assert.match(await eventTells(form, "crashes", "HandlerCrashed", run), CRASHED);
      const status = await fails(run, CRASHED);
      if (form.execution === "resident") {
        assert.match(outputOf(status, "log") ?? "", /the cellar is flooded/);
        return;
      }
      needKubectl(this);
      const ofRun = ["--selector", `workflows.argoproj.io/workflow=${run}`, "--all-containers"];
      assert.match(await kubectl("logs", "--namespace", NAMESPACE, ...ofRun), /the cellar is flooded/);
    });

    it("is told that its handler hangs, by its condition, its Event and the run", async () => {
      const ready = await readyIs(form, "hangs", { status: "False", reason: "HandlerTimedOut" });
      const run = runIn(ready);
      assert.match(await eventTells(form, "hangs", "HandlerTimedOut", run), LATE);
      await fails(run, LATE);
    });

    it("takes its children along when it is deleted", async () => {
      for (const name of ["main", ...Object.keys(WRONG)]) {
        await session().api.delete(form.object(name, 0));
      }
      await waitFor("all of it to go", async () => {
        await session().api.assertGone(form.object("main", 0));
        await session().api.assertGone(form.child("main"));
      });
    });
  });
}

describe('an object of an operator of the form "pod" that never rests', () => {
  it("is observed at its newest generation soon after, by a few pods", async () => {
    await session().up();
    const form = FORMS.pod;
    const { metadata } = await session().api.create(form.object("hot", 0));
    for (let change = 1; change <= CHANGES; change++) {
      // A change of labels alone means no work, and must hide none.
      const isWork = change % 3 !== 1 || change === CHANGES;
      const spec = form.object("hot", change % 40)["spec"] as JsonObject;
      await session().api.patch(
        form.object("hot", 0),
        isWork ? { spec } : { metadata: { labels: { change: String(change) } } },
      );
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    await readyIs(form, "hot", { status: "True", reason: "Reconciled" });
    await assertChild(form, "hot", CHANGES % 40);
    const runs = await session().api.list(
      { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow" },
      NAMESPACE,
    );
    const ofHot = runs.filter((run) => run.metadata.labels?.["argosy.dev/object-uid"] === metadata.uid);
    assert.ok(ofHot.length < CHANGES / 5, `${ofHot.length} runs for ${CHANGES} changes`);
    await session().api.delete(form.object("hot", 0));
  });
});
