import assert from "node:assert/strict";
import type { Manifest } from "../../../runtime/base/objects";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import type { HttpTransport } from "../../../runtime/kubernetes/transport";
import type { RunOutcome } from "../../../runtime/programs/run/objectRun";
import type { RunOnceOptions } from "../../../runtime/programs/run/runOnce";
import type { ReconcileReport } from "../../../runtime/reconcile/report";
import type { Reference } from "../../../tools/objects";
import { submit } from "./argo";
import { inNamespace } from "./manifests";
import { PodBench, usePods } from "./podRun";

/** A client, and what was asked of the API server with it: "PATCH configmaps". */
export interface CountingClient {
  readonly client: KubernetesClient;
  readonly calls: () => readonly string[];
}

/** How many Workflows were submitted in this process. */
let submitted = 0;

/** The runs of an operator that has a pod for each run, each with a Workflow that the test submits. */
export class RunBench extends PodBench {
  /** What the runs of this test have reported. */
  readonly reports: ReconcileReport[] = [];
  private readonly clients: KubernetesClient[] = [];

  /** A manifest in the test's namespace. */
  inTest(manifest: Manifest): Reference & Manifest {
    return inNamespace(manifest, this.namespace) as Reference & Manifest;
  }

  /** Submits a Workflow and does what its pod would. */
  async submitted(
    parameters: Parameters<typeof submit>[2],
    more: Partial<RunOnceOptions> = {},
  ): Promise<RunOutcome & { workflow: string }> {
    const workflow = `run-${++submitted}`;
    await submit(this.operator, workflow, parameters);
    const onReport = (report: ReconcileReport) => void this.reports.push(report);
    // Enough for Deployments that become ready late, on a busy machine.
    const patienceMs = 120_000;
    // The same: a run of ten seconds looks once more at its Workflow.
    const lookMs = patienceMs;
    return { ...(await this.run(workflow, { onReport, patienceMs, lookMs, ...more })), workflow };
  }

  /** A client that notes its requests. */
  counting(): CountingClient {
    const calls: string[] = [];
    const client = new KubernetesClient(this.operator.connection);
    const { transport } = client as unknown as { transport: HttpTransport };
    const note = (method: string, path: string) => {
      const [, resource = "", subresource] =
        /\/(?:apis\/[^/]+\/|api\/)v[^/]+(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\/[^/?]+(\/[a-z]+)?)?/.exec(
          path,
        ) ?? [];
      calls.push(`${method} ${resource}${subresource ?? ""}`);
    };
    const { send, open } = transport;
    transport.send = (request) => {
      note(request.method, request.path);
      return send.call(transport, request) as never;
    };
    transport.open = (request) => {
      note("WATCH", request.path);
      return open.call(transport, request);
    };
    this.clients.push(client);
    return { calls: () => calls, client };
  }

  /** Fails unless an object's newest generation was reconciled and is ready. */
  async assertNewest(manifest: Reference): Promise<void> {
    const { metadata, status } = await this.api.get(manifest);
    const { observedGeneration } = status as { observedGeneration?: number };
    assert.equal(observedGeneration, metadata.generation);
    assert.equal((await this.readyOf(manifest)).status, "True");
  }

  /** Closes the clients of {@link counting}. */
  close(): void {
    for (const client of this.clients.splice(0)) client.close();
  }
}

/**
 ** Installs an operator for the tests of a suite, in addition to Argo's kinds.
 * @param name the operator's, which no other suite has
 * @param begin given a bench before each test
 */
export function useRuns(name: string, begin: (bench: RunBench) => void): void {
  let bench: RunBench | undefined;
  usePods(
    {
      name,
      finalize: true,
      children: [
        { apiVersion: "v1", kind: "ConfigMap" },
        { apiVersion: "apps/v1", kind: "Deployment" },
      ],
    },
    ({ operator, client, namespace }) => {
      bench = new RunBench(operator, client, namespace);
      begin(bench);
    },
  );
  afterEach(() => bench?.close());
}
