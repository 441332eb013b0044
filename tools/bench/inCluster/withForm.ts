import { setMaxListeners } from "node:events";
import { join } from "node:path";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import type { Manifest } from "../../../runtime/kubernetes/objects";
import type { Objects } from "../../objects";
import { BenchmarkError } from "../benchmark";
import { Cluster, NAMESPACE } from "../cluster";
import type { Progress } from "../peer";
import { buildFlowSchemas } from "./apiCalls";
import { buildNamespace, CONTROLLER_NAMESPACE, type Form, OPERATOR_NAMESPACE } from "./form";
import { Installation } from "./installation";
import { keepLogs } from "./logs";

/** What {@link withForm} is told. */
export interface FormOptions {
  readonly connection: ClusterConnection;
  /** The CustomResourceDefinition of the Memcacheds. */
  readonly crd: Manifest;
  /** Folder that stays, for the logs of a form that failed. */
  readonly cache: string;
  readonly progress: Progress;
  /** Ends it early; the cluster is left as it was found all the same. */
  readonly signal: AbortSignal;
}

/**
 * Installs a form, does something with it, and removes it, whatever happens.
 * @throws BenchmarkError with the form's name, why the step failed, and the file of what its pods printed; the
 *   signal's reason
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
      `${form.name} could not do its work: ${message}. What its pods printed: ${logFile}`,
    );
  } finally {
    cluster.close();
    progress("removing it");
    await installation.remove();
  }
}
