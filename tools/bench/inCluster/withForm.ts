import { setMaxListeners } from "node:events";
import { join } from "node:path";
import type { Manifest } from "../../../runtime/base/objects";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import type { Objects } from "../../objects";
import { BenchmarkError } from "../benchmark";
import { Cluster, NAMESPACE } from "../cluster";
import type { Progress } from "../peer";
import { buildFlowSchemas } from "./apiCalls";
import { buildNamespace, CONTROLLER_NAMESPACE, type Form, OPERATOR_NAMESPACE } from "./form";
import { Installation } from "./installation";
import { keepLogs } from "./logs";

/** The options of {@link withForm}. */
export interface FormOptions {
  readonly connection: ClusterConnection;
  /** The CustomResourceDefinition of the Memcacheds. */
  readonly crd: Manifest;
  /** A permanent folder, for the logs of a failed form. */
  readonly cache: string;
  readonly progress: Progress;
  /** Ends it early. The cluster is cleaned up nevertheless. */
  readonly signal: AbortSignal;
}

/**
 * Installs a form, runs a function with it, and removes it, whatever happens.
 * @throws BenchmarkError with the form's name, the reason of the failure, and the file with its pods' logs; the signal's reason
 */
export async function withForm<T>(
  objects: Objects,
  form: Form,
  options: FormOptions,
  step: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const { connection, crd, cache, progress, signal } = options;
  setMaxListeners(0, signal); // every request on its way listens
  const installation = new Installation(objects, progress);
  const cluster = new Cluster(connection, signal, { size: 0, ...form.cluster });
  try {
    progress("installing it");
    await installation.apply([buildNamespace(NAMESPACE), crd], signal);
    await installation.apply(buildFlowSchemas(form.groups.flat()), signal);
    for (const group of form.groups) await installation.apply(group, signal);
    return await step(cluster);
  } catch (error) {
    signal.throwIfAborted();
    const logFile = join(cache, `${form.name}.log`);
    await keepLogs(objects, [OPERATOR_NAMESPACE, CONTROLLER_NAMESPACE, NAMESPACE], logFile);
    const { message } = error as Error;
    throw new BenchmarkError(
      `${form.name} could not do its work: ${message}. The logs of its pods: ${logFile}`,
    );
  } finally {
    cluster.close();
    progress("removing it");
    await installation.remove();
  }
}
