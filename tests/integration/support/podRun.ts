import { localHandler } from "../../../cli/localHandler";
import { WORKFLOWS } from "../../../runtime/argo/workflows";
import type { Operator, PolicyRule } from "../../../runtime/definition/definition";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import type { Condition, Manifest } from "../../../runtime/kubernetes/objects";
import { type ResyncOptions, type ResyncResult, resyncOnce } from "../../../runtime/pod/resync/resyncOnce";
import { type RunOnceOptions, runOnce } from "../../../runtime/pod/run/runOnce";
import type { RunOutcome } from "../../../runtime/pod/run/runOutcome";
import type { Reference } from "../../../tools/objects";
import type { Api } from "./api";
import { allowRunner, announceArgo, INSTANCE_ID } from "./argo";
import { announceKind, sharedCluster } from "./cluster";
import {
  customResourceDefinitionOf,
  type ObjectPlan,
  TestOperator,
  type TestOperatorOptions,
} from "./testOperator";
import { conditionOf } from "./useOperator";

/** What a test works with of an operator that has a pod for each run, but for the pods and Argo. */
export class PodBench {
  /** The API as others than the engine use it. */
  readonly api: Api;

  /**
   * @param client with the runner's rights
   * @param namespace of this test alone
   */
  constructor(
    readonly operator: TestOperator,
    readonly client: KubernetesClient,
    readonly namespace: string,
  ) {
    this.api = operator.cluster.api;
  }

  /** A custom resource in the test's namespace. */
  object(name: string, plan: ObjectPlan = {}): Reference & Manifest {
    return this.operator.object(name, plan, this.namespace) as Reference & Manifest;
  }

  /** A Workflow of the operator's. */
  workflow(name: string): Reference {
    return { ...WORKFLOWS, metadata: { name, namespace: this.operator.runnerNamespace } };
  }

  /** The Ready condition of an object, which must be there. */
  async readyOf(manifest: Reference): Promise<Condition> {
    return conditionOf(await this.api.get(manifest), "Ready");
  }

  /** Does what the pod of a Workflow that is there would, with a child process as the handler. */
  run(workflow: string, more: Partial<RunOnceOptions> = {}): Promise<RunOutcome> {
    const { operator, runnerNamespace } = this.operator;
    return runOnce({
      operator,
      client: this.client,
      transport: localHandler(operator, {}),
      namespace: runnerNamespace,
      workflow,
      instance: `${workflow}-pod`,
      ...more,
    });
  }

  /** Does what the pod of a resync does. */
  resync(more: Partial<ResyncOptions> = {}): Promise<ResyncResult> {
    const { operator, runnerNamespace } = this.operator;
    return resyncOnce({
      operator,
      client: this.client,
      namespace: runnerNamespace,
      instanceId: INSTANCE_ID,
      instance: "resync-pod",
      lookMs: 50,
      withinMs: 300,
      ...more,
    });
  }
}

/**
 * Installs an operator for the tests of a suite, beside Argo's kinds.
 * @param rulesOf what the runner may do beside Argo
 * @param begin given a bench before each test
 */
export function usePods(
  options: TestOperatorOptions & { readonly name: string },
  rulesOf: (operator: Operator) => readonly PolicyRule[],
  begin: (bench: PodBench) => void,
): void {
  announceArgo();
  if (options.watch === undefined) announceKind(customResourceDefinitionOf(options));
  let operator: TestOperator;
  let client: KubernetesClient;
  before(async function () {
    // The control plane may have to be built.
    this.timeout(0);
    operator = await TestOperator.install(await sharedCluster(), options);
    await allowRunner(operator, "workflows", rulesOf(operator.operator));
    client = new KubernetesClient(operator.connection);
  });
  beforeEach(async () => {
    begin(new PodBench(operator, client, await operator.cluster.api.newNamespace(options.name)));
  });
  after(async () => {
    client?.close();
    await operator?.dispose();
  });
}
