import { localHandler } from "../../../cli/handler/localHandler";
import { dispatcherWorkflowRules, RUN_WORKFLOW_RULES } from "../../../components/manifests/operator/rules";
import type { Condition, KubernetesObject, Manifest } from "../../../runtime/base/objects";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import type { RunOutcome } from "../../../runtime/programs/run/objectRun";
import { type RunOnceOptions, runOnce } from "../../../runtime/programs/run/runOnce";
import { WORKFLOWS } from "../../../runtime/report/workflows";
import type { Reference } from "../../../tools/objects";
import type { Api } from "./api";
import { allowRunner, announceArgo, INSTANCE_ID } from "./argo";
import { announceKind, sharedCluster } from "./cluster";
import { PlayedArgo } from "./playedArgo";
import {
  customResourceDefinitionOf,
  type ObjectPlan,
  type TestController,
  type TestControllerOptions,
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

  /** Every Workflow of the operator about the object of that name. */
  async workflowsOf(name: string): Promise<KubernetesObject[]> {
    const all = await this.api.list(WORKFLOWS, this.operator.runnerNamespace);
    return all.filter(({ spec }) => {
      const { arguments: given } = spec as {
        arguments: { parameters: readonly { name: string; value: string }[] };
      };
      const value = (parameter: string) => given.parameters.find((each) => each.name === parameter)?.value;
      return value("name") === name && value("namespace") === this.namespace;
    });
  }

  /** The Ready condition of an object, which must exist. */
  async readyOf(manifest: Reference): Promise<Condition> {
    return conditionOf(await this.api.get(manifest), "Ready");
  }

  /** Does what the pod of an existing Workflow would, with a child process as the handler. */
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

  /** Starts a runner that dispatches. */
  dispatch(options: TestControllerOptions = {}): TestController {
    return this.operator.launch({ runs: { instanceId: INSTANCE_ID }, ...options });
  }

  /** Plays Argo's controller and its pods for the operator's Workflows, until it is stopped. */
  playArgo(): PlayedArgo {
    return new PlayedArgo({
      api: this.api,
      namespace: this.operator.runnerNamespace,
      run: (name) => this.run(name, { patienceMs: 2_000, lookMs: 1_000 }),
    });
  }
}

/**
 ** Installs an operator for the tests of a suite, in addition to Argo's kinds.
 * @param begin given a bench before each test
 */
export function usePods(
  options: TestOperatorOptions & { readonly name: string },
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
    const rules = [...RUN_WORKFLOW_RULES, ...dispatcherWorkflowRules(operator.operator)];
    await allowRunner(operator, "workflows", rules);
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

/** The same, with a runner that dispatches and an Argo that is played. */
export function useDispatching(
  options: TestOperatorOptions & { readonly name: string },
  begin: (bench: PodBench, argo: PlayedArgo, runner: TestController) => void,
): void {
  let argo: PlayedArgo | undefined;
  let runner: TestController | undefined;
  usePods(options, (bench) => {
    argo ??= bench.playArgo();
    runner ??= bench.dispatch();
    begin(bench, argo, runner);
  });
  after(() => argo?.stop());
}
