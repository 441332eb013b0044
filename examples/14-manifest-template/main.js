const template = require("./deployment.json");

/** @type {(request: import("./website-types").Request) => import("./website-types").Answer} */
function reconcile({ object, children }) {
  const { name } = object.metadata;
  const { image, replicas } = object.spec;
  const labels = { "app.kubernetes.io/name": "website", "app.kubernetes.io/instance": name };

  const deployment = structuredClone(template);
  deployment.metadata = { name, labels };
  deployment.spec.replicas = replicas;
  deployment.spec.selector.matchLabels = labels;
  deployment.spec.template.metadata.labels = labels;
  deployment.spec.template.spec.containers[0].image = image;

  const observed = children.find((child) => child.kind === "Deployment");
  return { children: [deployment], status: { image, readyReplicas: observed?.status?.readyReplicas ?? 0 } };
}

module.exports = { reconcile };
