import assert from "node:assert/strict";
import { namespace } from "../integration/support/manifests";
import { assertChild, createReady, FORMS, type Form, LETTER, readyIs } from "./support/forms";
import { session } from "./support/hooks";
import type { Installation } from "./support/installation";
import { LONG_MS, tell, waitFor } from "./support/progress";
import { CONTROLLER_NAMESPACE, NAMESPACE } from "./support/session";
import { Shell } from "./support/shell";
import { Writer } from "./support/writer";

const PAIRS = [
  { leaving: FORMS.pod, staying: LETTER },
  { leaving: LETTER, staying: FORMS.pod },
] as const;
/** How many changes are made before and after the operator leaves. */
const CHANGES = 4;
/** What Pulumi tells the user to type in order to go on. */
const WORDS = /`(pulumi state unprotect '[^']+')`/g;
const NOT_REFUSED = "@@ not refused @@";
/** CRDs; event bus; namespaces and Argo's CRDs: the next is refused when the former is not protected any more. */
const MOST_ROUNDS = 4;
/** What an operator has in the operators' namespace. */
const OPERATORS_KINDS = [
  ["v1", "ConfigMap"],
  ["v1", "Service"],
  ["v1", "ServiceAccount"],
  ["apps/v1", "Deployment"],
  ["networking.k8s.io/v1", "NetworkPolicy"],
  ["policy/v1", "PodDisruptionBudget"],
  ["rbac.authorization.k8s.io/v1", "Role"],
  ["rbac.authorization.k8s.io/v1", "RoleBinding"],
  ["argoproj.io/v1alpha1", "WorkflowTemplate"],
  ["argoproj.io/v1alpha1", "CronWorkflow"],
] as const;

describe("a stack with the settings of prod", function () {
  this.timeout(LONG_MS);
  let installation: Installation;
  let shell: Shell;

  before(async () => {
    const settings = (await hasStorage()) ? {} : { eventBusStorage: "" };
    installation = await session().anotherInstallation("prod", { base: "prod", settings });
    const { project, stack } = installation;
    project.takeAway("memcached");
    project.addLetters();
    await installation.up();
    shell = new Shell(project.folder, await stack.shellEnvironment());
  });

  after(() => shell?.end());

  for (const { leaving, staying } of PAIRS) {
    describe(`whose operator of the form "${leaving.execution}" is taken out of the program`, () => {
      const writer = new Writer(staying);
      const alive = `alive-${leaving.operator}`;
      let putBack = () => {};
      let words: readonly string[] = [];
      let pods: readonly string[] = [];

      before(async () => {
        await createReady(leaving, alive, 1);
        pods = await podsOf(staying);
        writer.start();
        await writer.further(CHANGES);
        putBack = installation.project.takeAway(leaving.operator);
      });

      after(async () => {
        await writer.stop();
        await writer.clear();
        putBack();
      });

      it("refuses to delete its CRD, which has objects, and says how to go on", async () => {
        words = await refused(shell, "pulumi up --yes --non-interactive");
        assert.deepEqual(words.map(resourceIn), [leaving.crd]);
        await session().api.patch(leaving.object(alive, 0), { spec: { pages: 2 } });
        await readyIs(leaving, alive, { status: "True", reason: "Reconciled" });
        await assertChild(leaving, alive, 2);
      });

      it("deletes it, with all that it had, where that is done", async () => {
        for (const word of words) await shell.run(`${word} --yes < /dev/null`);
        await shell.run("pulumi up --yes --non-interactive < /dev/null");
        await waitFor("its children to go", () => session().api.assertGone(leaving.child(alive)));
        for (const [apiVersion, kind] of OPERATORS_KINDS) {
          const found = await session().api.list({ apiVersion, kind }, NAMESPACE);
          const left = found.filter(
            ({ metadata }) => metadata.labels?.["app.kubernetes.io/name"] === leaving.operator,
          );
          assert.deepEqual(
            left.map(({ metadata }) => metadata.name),
            [],
            kind,
          );
        }
      });

      it("goes on to handle what the other operator is given, with the pods that it had", async () => {
        await writer.further(CHANGES);
        await writer.stop();
        await writer.assertAllHandled();
        assert.deepEqual(await podsOf(staying), pods);
      });

      it("takes it in again", async () => {
        putBack();
        putBack = () => {};
        await installation.stack.up();
        await createReady(leaving, alive, 1);
        await createReady(staying, "other", 1);
        for (const [form, name] of [[leaving, alive] as const, [staying, "other"] as const]) {
          await session().api.delete(form.object(name, 0));
        }
      });
    });
  }

  // Mocha runs what stands in a block by itself before the blocks in it.
  describe("that is taken down", () => {
    it("is not destroyed until the user confirms it", async () => {
      for (const { leaving } of PAIRS) await createReady(leaving, `last-${leaving.operator}`, 1);
      const words = await refused(shell, "pulumi destroy --yes --non-interactive");
      const crds = PAIRS.map(({ leaving }) => leaving.crd);
      assert.deepEqual(words.map(resourceIn).toSorted(), crds.toSorted());
      for (const { leaving } of PAIRS) {
        const name = `last-${leaving.operator}`;
        await session().api.patch(leaving.object(name, 0), { spec: { pages: 2 } });
        await readyIs(leaving, name, { status: "True", reason: "Reconciled" });
        await assertChild(leaving, name, 2);
      }
    });

    it("is destroyed by who does what Pulumi says", async () => {
      let rounds = 1;
      for (; rounds < MOST_ROUNDS; rounds++) {
        const words = await refused(shell, "pulumi destroy --yes --non-interactive");
        tell(`refused: ${words.map(resourceIn).join(", ")}`);
        for (const word of words) await shell.run(`${word} --yes < /dev/null`);
      }
      await shell.run("pulumi destroy --yes --non-interactive < /dev/null");
      for (const name of [NAMESPACE, CONTROLLER_NAMESPACE]) await session().api.assertGone(namespace(name));
    });
  });
});

/** Asserts that Pulumi refuses. Returns what it tells the user to type. */
async function refused(shell: Shell, command: string): Promise<string[]> {
  const printed = await shell.run(`if ${command} < /dev/null; then echo '${NOT_REFUSED}'; fi`);
  assert.ok(!printed.includes(NOT_REFUSED), printed);
  assert.match(printed, /cannot be deleted\s+because it is protected/);
  return [...new Set([...printed.matchAll(WORDS)].map(([, word = ""]) => word))];
}

/** The name in Pulumi's tree of the resource that a word is about. */
function resourceIn(word: string): string {
  return /::([^:']+)'$/.exec(word)?.[1] ?? word;
}

/** The pods of a resident operator's runners and of the event bus, which nothing that others do concerns. */
async function podsOf({ operator }: Form): Promise<string[]> {
  const pods = await session().api.list({ apiVersion: "v1", kind: "Pod" }, NAMESPACE);
  const its = pods.filter(({ metadata: { labels = {} } }) => {
    const isRunner =
      labels["app.kubernetes.io/name"] === operator && labels["app.kubernetes.io/component"] === "runner";
    return isRunner || labels["eventbus-name"] !== undefined;
  });
  return its.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).toSorted();
}

/** Whether volumes can be had without naming their class. */
async function hasStorage(): Promise<boolean> {
  const classes = await session().api.list({ apiVersion: "storage.k8s.io/v1", kind: "StorageClass" });
  const isDefault = "storageclass.kubernetes.io/is-default-class";
  const found = classes.some(({ metadata }) => metadata.annotations?.[isDefault] === "true");
  if (!found) tell("the cluster has no default storage class: the event bus is without a volume");
  return found;
}
