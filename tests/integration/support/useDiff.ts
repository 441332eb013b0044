import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { ObjectPreview } from "../../../cli/diff/preview";
import type { HandlerRequest } from "../../../runtime/handler/contract";
import { temporaryFolder } from "../../support/temporaryFolder";
import { runArgosy } from "../../unit/support/runArgosy";
import { announceKind } from "./cluster";
import { deployedDefinition } from "./manifests";
import { askForCluster } from "./sharedCluster";
import { customResourceDefinitionOf, type ObjectPlan } from "./testOperator";
import { useOperator } from "./useOperator";

/** A kind of children with the name of one of Kubernetes' own. */
const TWIN = customResourceDefinitionOf({ name: "deployment" });

/**
 * Hooks for the tests of a `describe`: an operator in the cluster, and a working tree whose handler may answer otherwise. Each
 * command of Argosy there is checked to write nothing.
 */
export function useDiff() {
  announceKind(TWIN);
  const bench = useOperator({
    name: "previewed",
    children: [
      "v1/ConfigMap",
      "v1/Secret",
      "v1/Namespace",
      { apiVersion: "deployment.example.com/v1", kind: "Deployment", plural: "deployments" },
      "apps/v1/Deployment",
      { apiVersion: "batch/v1", kind: "Job", update: "recreate" },
      { apiVersion: "v1", kind: "ServiceAccount", update: "never" },
    ],
    uses: { credentials: { apiVersion: "v1", kind: "Secret", name: "spec.secret" } },
  });
  let kubeconfig: string;
  /** The working tree: a copy of the operator's folder, whose handler may answer otherwise. */
  let tree: string;
  const folder = () => path.join(tree, "previewed");

  before(async () => {
    kubeconfig = await askForCluster();
    await bench.api.apply(TWIN);
    const { operator, runnerNamespace } = bench.operator;
    await bench.api.apply(deployedDefinition(operator, runnerNamespace));
  });
  beforeEach(() => {
    tree = temporaryFolder();
    cpSync(bench.operator.operator.folder, folder(), { recursive: true });
    rmSync(path.join(folder(), "calls.jsonl"), { force: true });
  });

  const kind = () => bench.operator.operator.customResource.kind;

  /** What the working tree's handler answers for an object. */
  function answers(name: string, plan: ObjectPlan): void {
    mkdirSync(path.join(folder(), "plans"), { recursive: true });
    writeFileSync(path.join(folder(), `plans/${name}.json`), JSON.stringify(plan));
  }

  /** What the working tree's handler was asked. */
  function asked(): HandlerRequest[] {
    const text = readFileSync(path.join(folder(), "calls.jsonl"), "utf8");
    return text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as HandlerRequest);
  }

  async function argosy(
    expectedCode: number,
    ...args: string[]
  ): Promise<{ stdout: string; stderr: string }> {
    const before = await everything();
    const { result, stdout, stderr } = await runArgosy(
      ...args,
      "--kubeconfig",
      kubeconfig,
      "--namespace",
      bench.namespace,
      "--handlers",
      tree,
    );
    assert.equal(result, expectedCode, `${stdout}\n${stderr}`);
    assert.deepEqual(await everything(), before, "something was written");
    return { stdout, stderr };
  }

  async function previewed(expectedCode: number, ...args: string[]): Promise<ObjectPreview[]> {
    const { stdout } = await argosy(expectedCode, ...args, "--json");
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as ObjectPreview);
  }

  /** All that is in the test's namespace, in its versions. */
  async function everything(): Promise<string[]> {
    const { group, version } = bench.operator.operator.customResource;
    const kinds = [
      { apiVersion: "v1", kind: "ConfigMap" },
      { apiVersion: "v1", kind: "Secret" },
      { apiVersion: "v1", kind: "ServiceAccount" },
      { apiVersion: "apps/v1", kind: "Deployment" },
      { apiVersion: "batch/v1", kind: "Job" },
      { apiVersion: `${group}/${version}`, kind: kind() },
    ];
    const lists = await Promise.all(kinds.map((each) => bench.api.list(each, bench.namespace)));
    // Simulated nodes write the status of what runs on them.
    const isClusters = (name: string) => ["kube-root-ca.crt", "default"].includes(name);
    return lists
      .flat()
      .filter(({ metadata }) => !isClusters(metadata.name))
      .map(({ kind: each, metadata, spec, data }) =>
        JSON.stringify([each, metadata.uid, metadata.name, spec, data]),
      );
  }

  return {
    bench,
    folder,
    kind,
    answers,
    asked,
    argosy,
    previewed,
    /** The working tree. */
    get tree(): string {
      return tree;
    },
    get kubeconfig(): string {
      return kubeconfig;
    },
  };
}
