import {
  type Manifest,
  POD_LAYOUT,
  type PolicyRule,
  RUNNER_ENVIRONMENT,
  RUNNER_PORTS,
} from "../../../runtime/program";
import { buildAccount, buildRole } from "../access";
import { buildDeployment } from "../deployment";
import { imageOf } from "../images";
import { labelsOf, type ManifestSet } from "../metadata";
import { eventPathNames } from "../names";
import { accountAnnotations, READ_ONLY } from "../pods";
import { heapOption } from "../resources";
import type { EventPathOptions } from "./options";

/**
 * What it takes to see when the pods of the event path began, and to let one begin anew. An eviction is the least that
 * does so: it changes no specification, and no budget of a runner's is overridden by it. RBAC cannot name pods to come.
 */
const RULES: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
  { apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
];

/**
 * The event path's keeper: the engine, told to replace sensors and event sources whose bus began after them. Argo's own
 * controllers have no remedy for that, and give these pods no probes.
 *
 * @param engine the ConfigMap of the engine
 */
export function buildKeeper(options: EventPathOptions, engine: Pick<Manifest, "metadata">): ManifestSet {
  const { platform } = options;
  const { namespace } = platform;
  const name = eventPathNames(options.name).keeper;
  const labels = labelsOf(options.name, "keeper");
  const probe = (path: string) => ({
    httpGet: { path, port: "metrics" },
    periodSeconds: 10,
    timeoutSeconds: 5,
  });
  return {
    "keeper-account": buildAccount(name, namespace, labels, accountAnnotations("keeper", options)),
    ...keyed(buildRole({ name, namespace, labels, rules: RULES, account: { name, namespace } })),
    keeper: buildDeployment(
      {
        part: "keeper",
        name,
        namespace,
        labels,
        strategy: "Recreate",
        container: {
          image: imageOf("node", options),
          command: ["node", `${POD_LAYOUT.engine}/engine.js`, "keep"],
          env: [
            {
              name: RUNNER_ENVIRONMENT.namespace,
              valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } },
            },
            { name: RUNNER_ENVIRONMENT.pod, valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: RUNNER_ENVIRONMENT.eventPath, value: options.name },
            { name: "NODE_OPTIONS", value: heapOption("keeper", options) },
          ],
          ports: [{ name: "metrics", containerPort: RUNNER_PORTS.metrics }],
          startupProbe: { ...probe("/livez"), periodSeconds: 1, failureThreshold: 60 },
          livenessProbe: probe("/livez"),
          volumeMounts: [{ name: "engine", mountPath: POD_LAYOUT.engine, readOnly: true }],
        },
        volumes: [{ name: "engine", configMap: { name: engine.metadata.name, defaultMode: READ_ONLY } }],
      },
      options,
    ),
  };
}

function keyed({ role, binding }: { readonly role: Manifest; readonly binding: Manifest }): ManifestSet {
  return { "keeper-role": role, "keeper-role-binding": binding };
}
