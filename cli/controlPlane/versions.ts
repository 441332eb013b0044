/** Version of kube-apiserver, kube-controller-manager, kube-scheduler and kubectl. */
export const kubernetesVersion = "v1.34.1";

/** Version under which Kubernetes publishes its staging modules (k8s.io/api and the like) for that release. */
export const kubernetesStagingVersion = "v0.34.1";

/** Version of etcd. 3.4 is too old: client-go's watches fail on it. */
export const etcdVersion = "v3.6.6";

/** Version of the kwok controller and of kwokctl. */
export const kwokVersion = "v0.8.0";

/** The oldest Go that builds all of them; kwok asks for the newest one. */
export const minimumGoVersion = "1.26";
