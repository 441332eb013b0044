import assert from "node:assert/strict";
import { workflowTemplateOf } from "../../runtime/report/workflows";
import { assertChild, createReady, FORMS, readyIs, runIn } from "./support/forms";
import { session } from "./support/hooks";
import { needKubectl } from "./support/kubectl";
import { tell, waitFor } from "./support/progress";
import { NAMESPACE } from "./support/session";
import { createSlow, inHandler, leaderOf, letGo } from "./support/slow";
import { succeeds } from "./support/workflows";

/** For how long a roll-out may hold up objects that no handler is at work for. */
const MOST_HELD_UP_MS = 5_000;

describe("a handler that is edited while it is at work", () => {
  const slowIn = new Map<string, string>();
  let template: number | undefined;
  /** Under way while what is slow goes on: a runner waits for its handler, though not for ever. */
  let update: Promise<unknown>;

  before(async function () {
    needKubectl(this);
    await session().up();
    for (const form of Object.values(FORMS)) slowIn.set(form.execution, await createSlow(form, "slow"));
    const { project, stack } = session();
    project.edit("handlers/report/main.js", `"first"`, `"second"`);
    const metadataLine = `metadata = {"name": name, "labels": labels`;
    project.edit(
      "handlers/memcached/main.py",
      metadataLine,
      `${metadataLine}, "annotations": {"edition": "second"}`,
    );
    project.addLetters();
    template = await templateGeneration();
    update = stack.up();
    update.catch(() => {});
  });

  after(async () => {
    await update;
    await letGo(await leaderOf(FORMS.resident.operator));
    for (const form of Object.values(FORMS)) await session().api.delete(form.object("slow", 0));
    await session().api.delete(FORMS.resident.object("other", 0));
  });

  it('holds up no other object in the form "resident", and has no second run of the one at work', async () => {
    const form = FORMS.resident;
    const pod = slowIn.get(form.execution) ?? "";
    await waitFor("the new code to be rolled out", async () => assert.ok(await isLeaving(pod)));
    await session().api.create(form.object("other", 1));
    const startedAt = performance.now();
    await waitFor("its child", () => assertChild(form, "other", 1));
    const heldUpMs = Math.round(performance.now() - startedAt);
    tell(`handled after ${heldUpMs} ms`);
    assert.ok(heldUpMs <= MOST_HELD_UP_MS, `${heldUpMs} ms`);
    // A runner that stood by before the roll-out may lead first, until the roll-out ends that runner too.
    await waitFor("its child by the new code", async () =>
      assert.equal(form.editionOf(await assertChild(form, "other", 1)), "second"),
    );
    const leader = await leaderOf(form.operator);
    assert.notEqual(leader, pod);
    assert.ok(await isLeaving(pod), "the old one has not waited for its handler");
    await assert.rejects(inHandler(leader, "test", "-e", "/tmp/began"), /exit code 1/, "it has begun it too");
  });

  for (const form of Object.values(FORMS)) {
    it(`ends what is on its way with the old code, in the form "${form.execution}"`, async () => {
      const pod = slowIn.get(form.execution) ?? "";
      await waitFor("the new code to be rolled out", async () =>
        assert.ok(
          form.execution === "pod" ? (await templateGeneration()) !== template : await isLeaving(pod),
        ),
      );
      const { status = {} } = await session().api.get(form.object("slow", 0));
      // The CRD's default, until a run has ended.
      assert.equal(
        (status as { observedGeneration?: number }).observedGeneration,
        0,
        "the run did not wait for the word",
      );
      await letGo(pod);
      const child = await waitFor("the slow run's child", () => assertChild(form, "slow", form.slowCount));
      assert.notEqual(form.editionOf(child), "second");
      // The next leader has asked its own handler about the object before the child got ready, and that waits again.
      await succeeds(runIn(await readyIs(form, "slow", {})));
    });
  }

  for (const form of Object.values(FORMS)) {
    it(`handles the next event by its new code, in the form "${form.execution}"`, async () => {
      await update;
      await createReady(form, "after-edit", 1);
      assert.equal(form.editionOf(await session().api.get(form.child("after-edit"))), "second");
    });
  }

  it("may come with a further operator, which the event path then serves as well", async () => {
    const metadata = { name: "letter", namespace: session().team };
    await session().api.create({
      apiVersion: "office.example.com/v1",
      kind: "Letter",
      metadata,
      spec: { pages: 3 },
    });
    await waitFor("the letter's child", async () => {
      const child = await session().api.get({ apiVersion: "v1", kind: "ConfigMap", metadata });
      assert.equal((child["data"] as { pages: string }).pages, "3");
    });
  });
});

/** Counts the changes of the template that runs in pods are made from. */
async function templateGeneration(): Promise<number | undefined> {
  const metadata = { name: workflowTemplateOf(FORMS.pod.operator), namespace: NAMESPACE };
  const found = await session().api.get({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "WorkflowTemplate",
    metadata,
  });
  return found.metadata.generation;
}

async function isLeaving(pod: string): Promise<boolean> {
  const metadata = { name: pod, namespace: NAMESPACE };
  const found = await session().api.get({ apiVersion: "v1", kind: "Pod", metadata });
  return found.metadata.deletionTimestamp !== undefined;
}
