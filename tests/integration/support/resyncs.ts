import { RUN_WORKFLOW_RULES, resyncWorkflowRules } from "../../../components/manifests/operator/rules";
import { WORKFLOWS } from "../../../runtime/argo/workflows";
import type { Operator, UpdatePolicy } from "../../../runtime/definition/definition";
import type { KubernetesObject } from "../../../runtime/kubernetes/objects";
import type { ResyncOptions, ResyncResult } from "../../../runtime/pod/resync/resyncOnce";
import { submit } from "./argo";
import { PodBench, usePods } from "./podRun";

/** The resyncs of an operator that has a pod for each run, without pods and without Argo. */
export class ResyncBench extends PodBench {
  /** The operator in a resync in which nobody has a turn: an object's uid decides, and is another one each time. */
  get withoutTurns(): Operator {
    return { ...this.operator.operator, namespaces: [this.namespace], resyncSeconds: Number.NaN };
  }

  override resync(more: Partial<ResyncOptions> = {}): Promise<ResyncResult> {
    return super.resync({
      operator: { ...this.operator.operator, namespaces: [this.namespace] },
      ...more,
    });
  }

  /** Every Workflow of the operator. */
  workflows(): Promise<KubernetesObject[]> {
    return this.api.list(WORKFLOWS, this.operator.runnerNamespace);
  }

  /** Deletes every Workflow of the operator. */
  async deleteWorkflows(): Promise<void> {
    for (const { metadata } of await this.workflows()) await this.api.delete(this.workflow(metadata.name));
  }

  /** The names of all Workflows. Those of a resync are given without the end that makes each name unique. */
  async runs(): Promise<string[]> {
    const workflows = await this.workflows();
    return workflows.map(({ metadata }) => metadata.name.replace(/-[0-9a-f]{10}$/, "")).sort();
  }

  /** Submits a run for an object, and does what its pod would. */
  async runFor(name: string): Promise<void> {
    const { namespace } = this;
    await submit(this.operator, `${namespace}-${name}`, { namespace, name });
    await this.run(`${namespace}-${name}`);
  }
}

/**
 * Installs an operator for the tests of a suite, beside Argo's kinds. The Workflows that a test leaves are deleted after it.
 * @param name the operator's, which no other suite has
 * @param begin given a bench before each test
 * @param update when its children, ConfigMaps, are updated
 */
export function useResyncs(
  name: string,
  begin: (bench: ResyncBench) => void,
  update: UpdatePolicy = "apply",
): void {
  let bench: ResyncBench;
  usePods(
    { name, finalize: true, children: [{ apiVersion: "v1", kind: "ConfigMap", update }] },
    (operator) => [...RUN_WORKFLOW_RULES, ...resyncWorkflowRules(operator)],
    ({ operator, client, namespace }) => {
      bench = new ResyncBench(operator, client, namespace);
      begin(bench);
    },
  );
  afterEach(() => bench.deleteWorkflows());
}
