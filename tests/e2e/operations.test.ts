import assert from "node:assert/strict";
import { assertChild, createReady, FORMS, readyIs, runIn } from "./support/forms";
import { session } from "./support/hooks";
import { needKubectl } from "./support/kubectl";
import { waitFor } from "./support/progress";
import { createSlow, letGo } from "./support/slow";
import { succeeds } from "./support/workflows";

describe("a handler that is edited while it is at work", () => {
  const slowIn = new Map<string, string>();

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
    await stack.up();
  });

  after(async () => {
    for (const form of Object.values(FORMS)) await session().api.delete(form.object("slow", 0));
  });

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

  for (const form of Object.values(FORMS)) {
    it(`ends what is on its way with the old code, in the form "${form.execution}"`, async () => {
      const { status } = await session().api.get(form.object("slow", 0));
      assert.equal(status, undefined, "the run did not wait for the word");
      await letGo(slowIn.get(form.execution) ?? "");
      const run = runIn(await readyIs(form, "slow", { status: "True", reason: "Reconciled" }));
      const child = await waitFor("the slow run's child", () => assertChild(form, "slow", form.slowCount));
      assert.notEqual(form.editionOf(child), "second");
      await succeeds(run);
    });

    it(`handles the next event by its new code, in the form "${form.execution}"`, async () => {
      await createReady(form, "after-edit", 1);
      assert.equal(form.editionOf(await session().api.get(form.child("after-edit"))), "second");
    });
  }
});
