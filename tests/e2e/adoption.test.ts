import assert from "node:assert/strict";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { namespace } from "../integration/support/manifests";
import {
  buildForeignArgo,
  buildForeignUse,
  buildForeignWorkflow,
  FOREIGN_JETSTREAM,
  FOREIGN_NAMESPACE,
} from "./support/foreignArgo";
import { assertChild, createReady, FORMS, readyIs } from "./support/forms";
import { session } from "./support/hooks";
import type { Installation } from "./support/installation";
import { LONG_MS, waitFor } from "./support/progress";
import { NAMESPACE } from "./support/session";

/** As docs/tasks/use-an-existing-argo.md has it, for an Argo whose Workflow controller has no instance id. */
const ADOPTED = {
  argoEvents: "adopt",
  jetStreamVersion: FOREIGN_JETSTREAM,
  argoWorkflows: "adopt",
  instanceId: "",
};
/** What of an object is its owner's word. */
const THEIR_WORD = ["spec", "data", "rules", "subjects", "roleRef"] as const;
/** These hold the namespace as long as their controller has not let them go. */
const HELD = ["Sensor", "EventSource", "EventBus"];

describe("another program's Argo that is in the cluster already", function () {
  this.timeout(LONG_MS);
  let theirs: readonly Manifest[] = [];
  let team = "";
  let installation: Installation;
  let words: readonly unknown[] = [];

  before(async () => {
    const { api } = session();
    await session().destroyAll();
    team = `${session().team}-theirs`;
    for (const [apiVersion, kind] of [
      ["v1", "Namespace"],
      ["apiextensions.k8s.io/v1", "CustomResourceDefinition"],
    ] as const) {
      const taken = (await api.list({ apiVersion, kind })).map(({ metadata }) => metadata.name);
      const inWay = taken.find((name) => name === FOREIGN_NAMESPACE || name.endsWith(".argoproj.io"));
      assert.equal(inWay, undefined, "the cluster is not empty");
    }
    theirs = [...buildForeignArgo(), ...buildForeignUse(team)];
    for (const manifest of theirs) {
      await waitFor(`${manifest.kind} ${manifest.metadata.name}`, () => api.apply(manifest), 60_000);
    }
    await workflowSucceeds(team, "theirs");
    await ticks(team);
  });

  after(async () => {
    const { api } = session();
    await session().destroyAll();
    for (const kind of HELD) {
      for (const manifest of theirs.filter((each) => each.kind === kind)) {
        await api.delete(manifest);
        await waitFor(`their ${kind} to go`, () => api.assertGone(manifest));
      }
    }
    for (const manifest of theirs.toReversed()) await api.delete(manifest).catch(() => {});
    for (const name of theirs.length > 0 ? [team, FOREIGN_NAMESPACE] : []) {
      await waitFor(`${name} to go`, () => api.assertGone(namespace(name)), 180_000);
    }
  });

  it("carries the operators of a stack that is told so", async () => {
    words = await theirWords(theirs);
    installation = await session().anotherInstallation("adoption", { settings: ADOPTED });
    await installation.up();
    for (const form of Object.values(FORMS)) {
      await createReady(form, "guest", 1);
      await session().api.patch(form.object("guest", 0), {
        spec: form.object("guest", 2)["spec"] as object as never,
      });
      await readyIs(form, "guest", { status: "True", reason: "Reconciled" });
      await assertChild(form, "guest", 2);
    }
  });

  it("goes on to serve its other users", async () => {
    const { api } = session();
    const workflow = buildForeignWorkflow(team, "later");
    await api.create(workflow);
    await workflowSucceeds(team, "later");
    await api.delete(workflow);
    await ticks(team);
  });

  it("is as it was when the stack is destroyed, with all objects of other users", async () => {
    const { api } = session();
    await installation.destroy();
    await api.assertGone(namespace(NAMESPACE));
    for (const form of Object.values(FORMS)) {
      await waitFor("the children to go", () => api.assertGone(form.child("guest")));
    }
    assert.deepEqual(await theirWords(theirs), words);
    await ticks(team);
  });
});

/** What each object is, no matter who has written it. */
async function theirWords(manifests: readonly Manifest[]): Promise<unknown[]> {
  return Promise.all(
    manifests.map(async (manifest) => {
      const found = await session().api.get(manifest);
      const { uid, name, labels } = found.metadata;
      return { name, uid, labels, ...Object.fromEntries(THEIR_WORD.map((field) => [field, found[field]])) };
    }),
  );
}

function workflowSucceeds(team: string, name: string): Promise<KubernetesObject> {
  return waitFor(
    `their Workflow ${name}`,
    async () => {
      const found = await session().api.get(buildForeignWorkflow(team, name));
      const { phase, message } = (found["status"] ?? {}) as { phase?: string; message?: string };
      assert.equal(phase, "Succeeded", message);
      return found;
    },
    300_000,
  );
}

/** Waits for two further ticks: one may have been on its way. */
async function ticks(team: string): Promise<void> {
  const count = async () => {
    const found = await session().api.list({ apiVersion: "v1", kind: "ConfigMap" }, team);
    return found.filter(({ metadata }) => metadata.labels?.["tick"] !== undefined).length;
  };
  const counted = await count();
  await waitFor("their Sensor", async () => assert.ok((await count()) > counted + 1), 300_000);
}
