const isReady = (pod) =>
  (pod?.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");

/** Pods in order: the next one comes when the ones before are ready. Claims stay when the set becomes smaller. */
exports.reconcile = ({ object, children }) => {
  const { name } = object.metadata;
  const { serviceName, replicas, template, volumeClaimTemplates = [] } = object.spec;
  const there = new Map(children.map((child) => [`${child.kind}/${child.metadata.name}`, child]));
  const pods = [];
  for (let index = 0; index < replicas; index += 1) {
    const own = `${name}-${index}`;
    pods.push({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: own, labels: { catset: name } },
      spec: {
        ...template.spec,
        hostname: own,
        subdomain: serviceName,
        volumes: volumeClaimTemplates.map((claim) => ({
          name: claim.name,
          persistentVolumeClaim: { claimName: `${claim.name}-${own}` },
        })),
      },
    });
    if (!isReady(there.get(`Pod/${own}`))) break;
  }
  const claims = new Map(
    children
      .filter(({ kind }) => kind === "PersistentVolumeClaim")
      .map((claim) => [claim.metadata.name, claim]),
  );
  for (const pod of pods)
    for (const { name: volume, storage } of volumeClaimTemplates) {
      const own = `${volume}-${pod.metadata.name}`;
      claims.set(own, {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: own },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
      });
    }
  const kept = [...claims.values()].map(({ apiVersion, kind, metadata, spec }) => ({
    ...{ apiVersion, kind, metadata: { name: metadata.name }, spec },
  }));
  const observed = pods
    .map(({ metadata }) => there.get(`Pod/${metadata.name}`))
    .filter((pod) => pod !== undefined);
  return {
    children: [...pods, ...kept],
    status: { replicas: observed.length, readyReplicas: observed.filter(isReady).length },
  };
};
