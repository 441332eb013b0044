import { UsageError } from "../common/commandError";

/**
 * Version of kube-apiserver, kube-controller-manager, kube-scheduler and kubectl. `ARGOSY_KUBERNETES_VERSION` names
 * another one: CI runs the tests on each supported version.
 *
 * @throws UsageError if the variable is no version
 */
export const kubernetesVersion = versionOf("ARGOSY_KUBERNETES_VERSION", "v1.34.1");

/** Version under which Kubernetes publishes its staging modules (k8s.io/api and the like) for that release. */
export const kubernetesStagingVersion = kubernetesVersion.replace(/^v1/, "v0");

/** Version of etcd. 3.4 is too old: client-go's watches fail on it. */
export const etcdVersion = "v3.6.6";

/** Version of the kwok controller and of kwokctl. */
export const kwokVersion = "v0.8.0";

/** The oldest Go that builds all programs. kwok needs the newest Go of them. */
export const minimumGoVersion = "1.26";

function versionOf(variable: string, usual: string): string {
  // The variable is empty if a matrix in CI has no value for it.
  const version = process.env[variable] || usual;
  if (/^v1\.\d+\.\d+$/.test(version)) return version;
  throw new UsageError(
    `${variable} is ${JSON.stringify(version)}. Give a version of Kubernetes, for example ${usual}.`,
  );
}
