import { buildAccount, buildRole } from "../../../components/manifests/access";
import { IMAGES, imageReference } from "../../../components/manifests/images";
import { CONTAINER_SECURITY, POD_SECURITY } from "../../../components/manifests/pods";
import type { Manifest } from "../../../runtime/base/objects";
import { NAMESPACE } from "../cluster";
import type { Form } from "./form";

const NAME = "bare-pod";

/**
 * A minimal program: it creates a Deployment with its pod's name, so that the driver sees that the pod has started. It uses the
 * runner's image, which every node with a runner already has.
 */
const PROGRAM = `
const { readFileSync: read } = require("node:fs");
const folder = "/var/run/secrets/kubernetes.io/serviceaccount/";
const name = process.env.NAME;
const labels = { bare: name };
const body = {
  apiVersion: "apps/v1", kind: "Deployment", metadata: { name },
  spec: { replicas: 0, selector: { matchLabels: labels }, template: {
    metadata: { labels }, spec: { containers: [{ name: "none", image: "none" }] } } },
};
require("node:https").request("https://kubernetes.default.svc/apis/apps/v1/namespaces/${NAMESPACE}/deployments", {
  method: "POST", ca: read(folder + "ca.crt"),
  headers: { authorization: "Bearer " + read(folder + "token"), "content-type": "application/json" },
}, (answer) => answer.resume()).end(JSON.stringify(body));
`;

/** A pod without any operator, for comparison: the least cost of a pod for each change. */
export function barePodForm(): Form {
  const account = { name: NAME, namespace: NAMESPACE };
  const labels = { "app.kubernetes.io/name": NAME };
  const rules = [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["create"] }];
  const { role, binding } = buildRole({ name: NAME, namespace: NAMESPACE, labels, rules, account });
  return {
    name: "bare-pod",
    groups: [[buildAccount(NAME, NAMESPACE, labels), role, binding]],
    cluster: { size: 0, work: { collection: "pods", manifest: podOf } },
    isSlow: true,
    isBare: true,
  };
}

function podOf(name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      restartPolicy: "Never",
      serviceAccountName: NAME,
      securityContext: POD_SECURITY,
      containers: [
        {
          name: "main",
          image: imageReference(IMAGES.engine),
          command: ["node", "-e", PROGRAM],
          env: [{ name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
          securityContext: CONTAINER_SECURITY,
        },
      ],
    },
  };
}
