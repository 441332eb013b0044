import assert from "node:assert/strict";
import type { Manifest } from "../../runtime/base/objects";
import { deployment } from "../integration/support/manifests";
import { argosy } from "./support/argosy";
import { session } from "./support/hooks";
import { kubectl, needKubectl } from "./support/kubectl";
import { LONG_MS, waitFor } from "./support/progress";
import { NAMESPACE } from "./support/session";

const EXAMPLE = "07-kind-of-others";
const OPERATOR = "kind-of-others";
const LABEL = "disruptions.example.com/budget";

/** The form `resident` watches others' objects in examples.test.ts. */
describe('an operator of the form "pod" that watches objects of others', function () {
  this.timeout(LONG_MS);
  const watched = (): Manifest => {
    const made = deployment("web", { replicas: 2 }, { labels: { [LABEL]: "true" } });
    return { ...made, metadata: { ...made.metadata, namespace: session().team } };
  };
  const budget = () => ({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "web", namespace: session().team },
  });
  const budgetIsThere = () => seen("its budget", () => session().api.get(budget()));
  const budgetIsGone = () => seen("its budget to go", () => session().api.assertGone(budget()));

  const nothingIsRemembered = () =>
    seen("nothing to be remembered", async () => {
      const selector = `argosy.dev/operator=argosy.${OPERATOR}`;
      const names = ["get", "memories", "--namespace", NAMESPACE, "--selector", selector, "--output", "name"];
      assert.equal(await kubectl(...names), "");
    });

  before(async function () {
    needKubectl(this);
    const installation = await session().anotherInstallation("watching", { examples: [EXAMPLE] });
    const pods = "execution: pod\nresyncSeconds: 60\nhandler: main.py";
    installation.project.edit(`handlers/${EXAMPLE}/operator.yaml`, "handler: main.py", pods);
    await installation.up();
  });

  it("gives one that has the label its child, by a run in a pod", async () => {
    await session().api.create(watched());
    await budgetIsThere();
    const { metadata } = await session().api.get(watched());
    const runs = { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow" };
    const ofIt = (await session().api.list(runs, NAMESPACE)).filter(
      (run) => run.metadata.labels?.["argosy.dev/object-uid"] === metadata.uid,
    );
    assert.notEqual(ofIt.length, 0);
    assert.deepEqual(metadata.finalizers, undefined);
    assert.deepEqual(
      Object.keys({ ...metadata.labels, ...metadata.annotations }).filter((key) => key.includes("argosy")),
      [],
    );
  });

  it("explains it by what it remembers, with the steps of the run", async () => {
    await seen("the steps of the run", async () => {
      const text = await argosy("explain", "deployment/web", "--namespace", session().team);
      assert.match(text, /: It is Ready\.\n.*^steps of .* ms +created PodDisruptionBudget web$/ms);
    });
  });

  it("follows its changes, and corrects what another client does to the child", async () => {
    await session().api.patch(watched(), { spec: { replicas: 1 } });
    await budgetIsGone();
    await session().api.patch(watched(), { spec: { replicas: 3 } });
    await budgetIsThere();
    await session().api.delete(budget());
    await budgetIsThere();
  });

  it("takes the child away when the label goes, and remembers nothing", async () => {
    await session().api.patch(watched(), { metadata: { labels: { [LABEL]: null } } });
    await budgetIsGone();
    await nothingIsRemembered();
    await session().api.patch(watched(), { metadata: { labels: { [LABEL]: "true" } } });
    await budgetIsThere();
  });

  it("remembers nothing of one that is deleted, whose child goes with it", async () => {
    await session().api.delete(watched());
    await budgetIsGone();
    await nothingIsRemembered();
  });
});

/** A run needs a pod. */
function seen<Result>(what: string, assertion: () => Promise<Result>): Promise<Result> {
  return waitFor(what, assertion, 600_000);
}
