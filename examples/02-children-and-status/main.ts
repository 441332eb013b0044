import type { Answer, Request } from "./site-types";

/** A Deployment and a Service for each Site. The status says where the site is, and how much of it is ready. */
export function reconcile({ object: site, children }: Request): Answer {
  const { name, namespace } = site.metadata;
  const { image, port, replicas } = site.spec;
  const labels = { "app.kubernetes.io/name": "site", "app.kubernetes.io/instance": name };
  const container = { name: "site", image, ports: [{ name: "http", containerPort: port }] };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, labels },
    spec: { selector: labels, ports: [{ port: 80, targetPort: "http" }] },
  };
  // The children as they are now. Before the first answer there are none.
  const observed = children.find(({ kind }) => kind === "Deployment");
  const status = {
    readyReplicas: observed?.status?.readyReplicas ?? 0,
    url: `http://${name}.${namespace}.svc`,
  };
  return { children: [deployment, service], status };
}
