// Every argument of the components: meaning, form, default and check. Begin here to add one.
import { z } from "zod";
import {
  anyObject,
  anyText,
  complainIn,
  fields,
  flag,
  integer,
  listOf,
  mapOf,
  oneOf,
  pattern,
  quoted,
  text,
} from "../../definition/checks";
import { DNS_LABEL, RESOURCE } from "../../definition/fields/terms";
import { endpointProblem } from "../../runtime/program";
import { about } from "../manifests/about";
import { DATA_MODES } from "../manifests/data";
import { SMALLEST_STORAGE } from "../manifests/eventPath/eventBus";
import { EVENT_BUS_REPLICAS } from "../manifests/eventPath/options";
import { LONGEST_SECONDS } from "../manifests/operator/options";
import { SSL_MODES } from "../manifests/platform/archive";
import { ARGO_MODES } from "../manifests/platform/options";
import { POD_PARTS } from "../manifests/pods";
import { bytesOf } from "../manifests/resources";
import { WORKLOAD_KEYS } from "../manifests/workloads";
import { later, laterImage } from "./inputs";

/**
 * The schemas of the arguments' parts: what each argument may be by itself. `npm run reference` generates everything else that says
 * so: arguments.ts, Pulumi.yaml, plugin/schema.json and the pages of the documentation.
 */

/** A century. Beyond it, Argo's time overflows. */
const MOST_DAYS = 36_500;

/** The value of a label. An empty value does not count here. */
export const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_KEY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const REGISTRY = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]+)?(\/[a-z0-9][-a-z0-9._]*)*$/;

/** A name of a namespace. */
export const namespace = pattern(DNS_LABEL, "the name of a namespace", "Name one, for example argosy.");
/** How a half of Argo comes into the cluster. */
export const mode = oneOf(ARGO_MODES, 'The default is "install".').meta(about({ type: "ArgoMode" }));
/** The number of runners of an operator. */
export const replicas = integer(1, 5, "One leads, the others stand by: 1 or 2.");
/** What becomes of users' data. */
export const data = oneOf(DATA_MODES, 'The default is "keep".')
  .default("keep")
  .describe(
    "What becomes of CRDs and namespaces, with all that users have in them, when they leave the program or the stack is destroyed. " +
      '"keep": they stay in the cluster, and a later `pulumi up` adopts them again. "protect": Pulumi refuses to delete them, and the ' +
      'event buses too. "delete": Pulumi deletes them, with everything in them. The last `pulumi up` decides.',
  )
  .meta(about({ type: "Data", key: "data" }));

/** The cluster of a component. */
export const cluster = fields(
  {
    kubeconfig: later(text("Give the text of a kubeconfig, or the path of its file."))
      .optional()
      .describe("The text of a kubeconfig, or the path of its file.")
      .meta(about({ otherwise: "`$KUBECONFIG`, else `~/.kube/config`" })),
    context: later(text("kubectl config get-contexts shows them."))
      .optional()
      .describe("The context to use.")
      .meta(about({ otherwise: "the current context of the kubeconfig" })),
    clusterIdentifier: later(text("Give the cluster a name of your own."))
      .optional()
      .describe(
        "A name of your own for the cluster. If the address or the certificate authority in the kubeconfig changes, Pulumi treats it " +
          "as another cluster and replaces every object. With this name, only another name means another cluster. Add the " +
          "name in a deployment that does not change the kubeconfig.",
      ),
  },
  "Give kubeconfig, context, or both.",
)
  .describe("A cluster, as Pulumi's Kubernetes provider accepts it.")
  .meta(about({ type: "Cluster" }));

const toleration = fields(
  {
    key: text("Name the taint's key.")
      .optional()
      .describe("The key of the taint.")
      .meta(about({ otherwise: "every taint" })),
    operator: oneOf(["Exists", "Equal"], "Leave it out for Equal.")
      .optional()
      .describe("How the value of the taint is compared.")
      .meta(about({ otherwise: '"Equal"' })),
    value: anyText("Quote it.").optional().describe("The value of the taint."),
    effect: oneOf(["NoSchedule", "PreferNoSchedule", "NoExecute"], "Leave it out for all of them.")
      .optional()
      .describe("The effect of the taint on pods without a toleration.")
      .meta(about({ otherwise: "all effects" })),
    tolerationSeconds: integer(0, LONGEST_SECONDS, "Leave it out for ever.")
      .optional()
      .describe("How long a pod stays on a node with the taint NoExecute, in seconds.")
      .meta(about({ otherwise: "for ever" })),
  },
  "Write a toleration as in a pod, for example { key: dedicated, operator: Exists }.",
)
  .describe("A toleration, as in a pod.")
  .meta(about({ type: "Toleration", typescript: "Toleration" }));

const labelsOf = (remedy: string) =>
  mapOf(
    pattern(LABEL_KEY, "the key of a label", 'Give one, for example "team".'),
    later(
      pattern(
        new RegExp(`^$|${LABEL_VALUE.source}`),
        "the value of a label",
        'Give one, for example "shop".',
      ),
    ),
    remedy,
  );
const annotationsOf = (remedy: string) =>
  mapOf(
    pattern(LABEL_KEY, "the key of an annotation", 'Give one, for example "example.com/team".'),
    later(anyText("Quote it.")),
    remedy,
  );
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

const podFields = {
  nodeSelector: labelsOf("Give labels of nodes, for example { disk: ssd }.")
    .describe("Labels of the nodes that the pods run on.")
    .meta(about({ otherwise: "{}" })),
  tolerations: listOf(toleration, "Give a list of tolerations.")
    .describe("Tolerations of the pods.")
    .meta(about({ otherwise: "[]" })),
  affinity: anyObject("Write an affinity as in a pod.")
    .optional()
    .describe("Which nodes the pods need or prefer.")
    .meta(
      about({
        otherwise: "members of an event bus prefer to run on different nodes and in different zones",
        typescript: "Affinity",
      }),
    ),
  priorityClassName: later(pattern(DNS_SUBDOMAIN, "a PriorityClass", "kubectl get priorityclass shows them."))
    .optional()
    .describe("The PriorityClass of the pods.")
    .meta(about({ otherwise: "the cluster's default" })),
  labels: labelsOf("Give labels, for example { team: shop }.")
    .optional()
    .describe("Labels in addition to Argosy's own."),
  annotations: annotationsOf("Give annotations, for example { team: shop }.")
    .optional()
    .describe("Annotations in addition to Argosy's own."),
  serviceAccountAnnotations: annotationsOf(
    "Give annotations, for example { eks.amazonaws.com/role-arn: ... }.",
  )
    .optional()
    .describe(
      "Annotations of the service account that the pods run as, such as `eks.amazonaws.com/role-arn`. Clouds use them to give the " +
        "account a cloud identity.",
    ),
};

const pod = fields(
  {
    ...podFields,
    nodeSelector: podFields.nodeSelector.optional(),
    tolerations: podFields.tolerations.optional(),
  },
  "Give fields of a pod, for example { nodeSelector: { disk: ssd } }.",
)
  .describe("Fields that a program chooses for pods, as Kubernetes names them.")
  .meta(about({ type: "Pod" }));

/** A schema of an object with any of these keys. */
function anyOf<Key extends string, Value extends z.ZodType>(
  keys: readonly Key[],
  value: Value,
  remedy: string,
) {
  return fields(
    Object.fromEntries(keys.map((key) => [key, value.optional()])) as Record<Key, z.ZodOptional<Value>>,
    remedy,
  );
}

const quantities = mapOf(
  RESOURCE,
  text("Give a quantity."),
  'Give quantities, for example { memory: "1Gi" }.',
);

const resources = fields(
  {
    requests: quantities.optional().describe("What is reserved for the container, such as `memory: 128Mi`."),
    limits: quantities.optional().describe("What the container must not exceed."),
  },
  "Give requests, limits, or both.",
)
  .describe("Requests and limits of a container.")
  .meta(about({ type: "Resources" }));

/** The choices for everything that Argosy makes. `checkWorkloadOptions` checks those that depend on others. */
export const workloads = {
  images: anyOf(
    WORKLOAD_KEYS.images,
    laterImage(text('Give a reference, for example "registry.example.com/node:22.20.0".')),
    'Give images by name, for example { node: "@sha256:..." }.',
  )
    .optional()
    .describe(
      'Other images, by name. Each is a whole reference, or ":tag" or "@sha256:..." to keep the image and pin its version. `python` ' +
        "and `javascript` are the images of functions whose definition names no image. An Output is a whole reference, and is pulled " +
        "from no mirror.",
    )
    .meta(
      about({
        type: "Images",
        otherwise: "those that Argosy was tested with",
        typescript: "Readonly<Partial<Record<ImageName, pulumi.Input<string>>>>",
      }),
    ),
  resources: anyOf(
    WORKLOAD_KEYS.resources,
    resources,
    "Give resources by container, for example { runner: { limits: { memory: 1Gi } } }.",
  )
    .optional()
    .describe("Requests and limits, by container. Each figure replaces Argosy's own; all others stay.")
    .meta(
      about({
        type: "ContainerResources",
        otherwise: "those that Argosy was tested with",
        typescript: "Readonly<Partial<Record<ContainerName, ResourcesArgs>>>",
      }),
    ),
  pods: fields(
    {
      ...Object.fromEntries(POD_PARTS.map((part) => [part, pod.optional()])),
      operators: mapOf(anyText("Name an operator."), pod, "Give fields of pods by operator.")
        .optional()
        .describe("Fields for the pods of single operators, by the operators' names."),
    },
    "Give fields of pods by part, for example { sensor: { priorityClassName: high } }.",
  )
    .optional()
    .describe(
      "Fields for the pods of one part, and of one operator by its name. Labels, annotations, node selectors and tolerations are " +
        "added to those of all pods. An affinity or a priority class replaces the general one.",
    )
    .meta(
      about({
        type: "Pods",
        otherwise: "as for all pods",
        typescript: "Partial<Record<PodPart, PodArgs>> & { readonly operators?: Record<string, PodArgs> }",
      }),
    ),
  transform: anyOf(
    WORKLOAD_KEYS.transform,
    z.custom((value) => typeof value === "function", "is not a function\nGive a function of the manifest."),
    "Give functions by part, for example { runner: (deployment) => { ... } }.",
  )
    .optional()
    .describe(
      "Functions that change single manifests before they are registered, by the part that they belong to.",
    )
    .meta(about({ otherwise: "no changes", typescript: "Transforms" })),
};

/** Where all pods run, and where their images come from. */
export const placement = fields(
  {
    registry: later(
      pattern(
        REGISTRY,
        "a registry",
        'Give host and path without a scheme, for example "mirror.example.com/hub".',
      ),
    )
      .optional()
      .describe("A mirror that all images are pulled from, instead of their own registries.")
      .meta(about({ key: "registry" })),
    imagePullSecrets: listOf(
      later(pattern(DNS_SUBDOMAIN, "the name of a Secret", "Name a Secret.")),
      "Give a list of names of Secrets.",
    )
      .default([])
      .describe("Secrets for pulling images, in both namespaces.")
      .meta(about({ key: "imagePullSecrets" })),
    ...podFields,
    nodeSelector: podFields.nodeSelector.default({}).meta(about({ key: "nodeSelector" })),
    tolerations: podFields.tolerations.default([]).meta(about({ key: "tolerations" })),
  },
  `Give any of registry, imagePullSecrets, ${Object.keys(podFields).join(", ")}.`,
)
  .prefault({})
  .describe("Where all pods run, and where their images come from.")
  .meta(about({ type: "Placement", otherwise: "on any node, with images from their own registries" }));

/** The archive of runs. */
export const archive = fields(
  {
    host: later(
      pattern(/^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$/, "a host", "Give its name or address."),
    ).describe("Name or address of the PostgreSQL."),
    port: integer(1, 65_535, "Leave it out for 5432.")
      .optional()
      .describe("The port of the PostgreSQL.")
      .meta(about({ otherwise: "5432" })),
    database: later(
      pattern(/^[A-Za-z_][A-Za-z0-9_-]{0,62}$/, "the name of a database", "Give its name."),
    ).describe("The database. Its user must own it."),
    secret: later(
      pattern(
        DNS_SUBDOMAIN,
        "the name of a Secret",
        "Name one in the controllers' namespace, with the keys username and password.",
      ),
    ).describe(
      "The name of a Secret in the namespace of Argo's controllers. It has the keys `username` and `password`, and also `ca.crt` if " +
        '`sslMode` begins with "verify-".',
    ),
    sslMode: oneOf(SSL_MODES, 'Leave it out for "require".')
      .optional()
      .describe("How the connection is secured.")
      .meta(about({ otherwise: '"require"' })),
    keptDays: integer(1, MOST_DAYS, "Leave it out for 90.")
      .optional()
      .describe("After how many days a run is deleted from the archive.")
      .meta(about({ otherwise: "90" })),
    // Argo writes the name into the statements that make its tables (persist/sqldb/migrate.go).
    clusterName: pattern(DNS_LABEL, "a DNS label", 'Leave it out for "default".')
      .optional()
      .describe(
        "The name of this cluster, which distinguishes its runs if several clusters share a database.",
      )
      .meta(about({ otherwise: '"default"' })),
  },
  "Give host, database and secret, or {} for none.",
)
  .optional()
  .describe(
    "A PostgreSQL in which Argo Workflows keeps runs for longer: host, database and secret, and if needed port, sslMode, keptDays " +
      "and clusterName.",
  )
  .meta(about({ type: "Archive", key: "archive" }));

const labels = mapOf(
  pattern(LABEL_KEY, "the key of a label", 'Give one, for example "release".'),
  later(pattern(LABEL_VALUE, "the value of a label", 'Give one, for example "prometheus".')),
  "Give labels, for example { release: prometheus }.",
);

/** The monitoring of the platform. */
export const monitoring = fields(
  {
    podMonitor: flag("Leave it out for false.")
      .optional()
      .describe("Whether to create a PodMonitor, which tells the Prometheus Operator which pods to scrape.")
      .meta(about({ otherwise: "false" })),
    alertRules: flag("Leave it out for false.")
      .optional()
      .describe("Whether to create a PrometheusRule with the alerts.")
      .meta(about({ otherwise: "false" })),
    dashboard: flag("Leave it out for false.")
      .optional()
      .describe("Whether to create a ConfigMap with the dashboard for Grafana.")
      .meta(about({ otherwise: "false" })),
    labels: labels
      .optional()
      .describe("Labels of PodMonitor and PrometheusRule, by which the Prometheus Operator selects them."),
    dashboardLabels: labels
      .optional()
      .describe("Labels of the dashboard's ConfigMap, by which Grafana's sidecar finds it.")
      .meta(about({ otherwise: 'grafana_dashboard: "1"' })),
    namespace: pattern(
      DNS_LABEL,
      "the name of a namespace",
      "Name the one that Prometheus runs in, or leave it out.",
    )
      .optional()
      .describe(
        "The namespace that Prometheus runs in. Pods in other namespaces cannot read the runners' metrics.",
      )
      .meta(about({ otherwise: "any" })),
  },
  "Give any of podMonitor, alertRules, dashboard, labels, dashboardLabels and namespace.",
)
  .optional()
  .describe(
    "The monitoring: podMonitor, alertRules and dashboard, each true if wanted; labels and dashboardLabels, by which the Prometheus " +
      "Operator and Grafana find them; and the namespace that Prometheus runs in.",
  )
  .meta(about({ type: "Monitoring", key: "monitoring" }));

/** The fields of an event bus. @param keys the beginning of their keys. @param of what the bus is for */
const busFields = (keys: "eventBus" | "outsideEvents", of: string, required: string) => ({
  replicas: integer(1, 7, "Give 1, or an odd number from 3 to 7.")
    .refine((replicas) => EVENT_BUS_REPLICAS.includes(replicas), {
      error: ({ input }) => `is ${input}\nGive 1, or an odd number from 3 to 7.`,
    })
    .default(1)
    .describe(`The number of members of the event bus${of}: 1, or an odd number from 3.`)
    .meta(about({ key: `${keys}Replicas` })),
  storage: text('Give a size of 128Mi or more, for example "1Gi".', (size) =>
    sizeOf(size) >= SMALLEST_STORAGE ? undefined : `is "${size}"`,
  )
    .optional()
    .describe(`The size of each member's volume, such as "1Gi".${required}`)
    .meta(
      about({
        key: `${keys}Storage`,
        otherwise:
          required === "" ? "none: each member keeps events in its pod, and loses them with the pod" : "none",
      }),
    ),
  storageClassName: pattern(
    /^[a-z0-9][-a-z0-9.]*$/,
    "a storage class",
    "kubectl get storageclass shows them.",
  )
    .optional()
    .describe("The storage class of these volumes.")
    .meta(about({ key: `${keys}StorageClassName`, otherwise: "the cluster's default" })),
});

/** The event bus. */
export const eventBus = fields(
  busFields("eventBus", "", ""),
  "Give any of replicas, storage and storageClassName.",
)
  .superRefine(checkStorageClassName)
  .prefault({})
  .describe("The size of the event bus.")
  .meta(about({ type: "EventBus", otherwise: "one member, without a volume" }));

/** The path of events from outside. */
export const outsideEvents = fields(
  {
    ...busFields(
      "outsideEvents",
      " for events from outside",
      " Required if an operator has `on`, because only the bus stores an event once it is accepted.",
    ),
    intakes: integer(1, 5, "The intakes share the work, and a single one is enough: give 1 or 2.")
      .default(1)
      .describe("The number of pods of the intake, which creates custom resources from these events.")
      .meta(about({ key: "outsideEventsIntakes" })),
  },
  "Give any of replicas, storage, storageClassName and intakes.",
)
  .superRefine(checkStorageClassName)
  .prefault({})
  .describe("The event bus and the intake that bring events from outside to operators that have `on`.")
  .meta(
    about({ type: "OutsideEvents", otherwise: "a bus with one member, without a volume, and one intake" }),
  );

function checkStorageClassName(
  { storage, storageClassName }: { storage?: string | undefined; storageClassName?: string | undefined },
  context: Parameters<typeof complainIn>[0],
): void {
  if (storage !== undefined || storageClassName === undefined) return;
  complainIn(context)(["storageClassName"], "is given without storage", "Give the volume's size as well.");
}

/** An account of the form of a user's name would be in no group, and so no guard would know it. */
const groups = (remedy: string) =>
  listOf(
    text("Name a group.", (name) => {
      const [, namespace] = /^system:serviceaccount:([^:]*)/.exec(name) ?? [];
      if (namespace === undefined) return undefined;
      return `is the account ${quoted(name)}, and not a group. The accounts of its namespace are system:serviceaccounts:${namespace}`;
    }),
    remedy,
  );

/** The guards of Argosy's objects. */
export const guards = fields(
  {
    children: flag("Leave it out for false.")
      .optional()
      .describe(
        "Whether only the operators can change and delete their children, and create objects that are marked as their children.",
      )
      .meta(about({ otherwise: "false" })),
    annotations: fields(
      {
        groups: groups('Give the groups that may set them, for example ["platform-team"].').describe(
          "Groups of users who may do this, in addition to Argosy and cluster administrators.",
        ),
      },
      'Give groups, for example { groups: ["platform-team"] }.',
    )
      .optional()
      .describe("Who may set Argosy's annotations on custom resources, such as `argosy.dev/paused`.")
      .meta(about({ type: "AnnotationsGuard", otherwise: "every user who may change the custom resources" })),
    exempt: groups('Give groups, for example ["system:serviceaccounts:velero"].')
      .optional()
      .describe("Groups that no guard stops, such as `system:serviceaccounts:velero`."),
  },
  "Give any of children, annotations and exempt.",
)
  .superRefine(({ children, annotations, exempt }, context) => {
    if (exempt === undefined || children || annotations) return;
    complainIn(context)(["exempt"], "is given without a guard", "Set children to true, or give annotations.");
  })
  .optional()
  .describe(
    "Rules of the API server that let only Argosy change Argosy's objects. `children: true` protects children. " +
      "`annotations.groups` lists who may set annotations. `exempt` lists groups that no guard stops.",
  )
  .meta(about({ type: "Guards", key: "guards" }));

/** The traces of runs. */
export const traces = fields(
  {
    // The address must be known now, so that it can be checked for a password.
    endpoint: text(
      'Give the address of a collector without a password, for example "http://collector.monitoring:4318".',
      endpointProblem,
    ).describe(
      'The address of the collector, without a password, such as "http://collector.monitoring:4318". `/v1/traces` is appended to the ' +
        "address.",
    ),
    headers: fields(
      {
        secret: text("Name a Secret in the operators' namespace.").describe("The Secret's name."),
        key: text("Name the key of the Secret that contains the headers.").describe("The key in the Secret."),
      },
      "Give secret and key.",
    )
      .optional()
      .describe(
        "A Secret in the operators' namespace, and its key that contains headers for the collector, in the form of " +
          "`OTEL_EXPORTER_OTLP_HEADERS`: `key=value,key=value`.",
      )
      .meta(about({ otherwise: "no headers" })),
    oneIn: integer(1, 1_000_000, "Leave it out for 1: every run.")
      .optional()
      .describe("With 20, one run in 20 is traced.")
      .meta(about({ otherwise: "1" })),
  },
  "Give endpoint, and if needed headers and oneIn, or {} for none.",
)
  .optional()
  .describe(
    "Where runs are sent as traces, by OTLP over HTTP: endpoint, and if needed headers (the Secret and its key that contains them) " +
      "and oneIn (with 20, one run in 20 is traced).",
  )
  .meta(about({ type: "Traces", key: "traces" }));

/** The limits of an operator's runs. */
export const quota = fields(
  {
    pods: integer(1, 10_000, "Leave it out for the operator's concurrency.")
      .optional()
      .describe("How many pods there may be at the same time.")
      .meta(about({ otherwise: "the operator's concurrency" })),
    requests: quantities
      .optional()
      .describe('Sums of requests, such as `cpu: "2"`.')
      .meta(about({ otherwise: "no limit" })),
    limits: quantities
      .optional()
      .describe("Sums of limits.")
      .meta(about({ otherwise: "no limit" })),
  },
  'Give any of pods, requests and limits, for example { requests: { cpu: "2" } }.',
)
  .describe("The limits for all pods of an operator's runs together.")
  .meta(about({ type: "Quota" }));

/** The bytes of a quantity. 0 if it is no quantity. */
function sizeOf(quantity: string): number {
  try {
    return bytesOf(quantity);
  } catch {
    return 0;
  }
}
