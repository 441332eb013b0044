/** The templates of a chart of memcached, as far as they depend on the values. */
exports.reconcile = ({ object }) => {
  const { name } = object.metadata;
  const values = object.spec ?? {
    replicaCount: 3,
    image: "memcached:1.6",
    AntiAffinity: "hard",
    memcached: {},
    metrics: {},
  };
  const labels = { app: `${name}-memcached`, release: name };
  const metadata = { name: `${name}-memcached`, labels };
  const { maxItemMemory = 64, verbosity = "v", extraArgs = [] } = values.memcached;
  const container = {
    name: "memcached",
    image: values.image,
    command: ["memcached", "-m", String(maxItemMemory), `-${verbosity}`, ...extraArgs],
    ports: [{ name: "memcache", containerPort: 11211 }],
    ...(values.resources && { resources: values.resources }),
  };
  const exporter = {
    name: "metrics",
    image: values.metrics.image,
    ports: [{ name: "metrics", containerPort: values.metrics.port }],
  };
  const term = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: labels } };
  const affinity =
    values.AntiAffinity === "hard"
      ? { requiredDuringSchedulingIgnoredDuringExecution: [term] }
      : { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 5, podAffinityTerm: term }] };
  const set = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata,
    spec: {
      serviceName: metadata.name,
      replicas: values.replicaCount,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          affinity: { podAntiAffinity: affinity },
          containers: [container, ...(values.metrics.enabled ? [exporter] : [])],
          ...(values.nodeSelector && { nodeSelector: values.nodeSelector }),
        },
      },
    },
  };
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      ...metadata,
      ...(values.service?.annotations && { annotations: values.service.annotations }),
    },
    spec: {
      clusterIP: "None",
      selector: labels,
      ports: [{ name: "memcache", port: 11211, targetPort: values.service?.port ?? "memcache" }],
    },
  };
  const budget = {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata,
    spec: { minAvailable: values.pdbMinAvailable, selector: { matchLabels: labels } },
  };
  return { children: [set, service, ...(values.pdbMinAvailable === undefined ? [] : [budget])] };
};
