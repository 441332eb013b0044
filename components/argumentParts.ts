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
  text,
} from "../definition/checks";
import { DNS_LABEL } from "../definition/fields/terms";
import { endpointProblem } from "../runtime/program";
import type {
  AnnotationsGuardArgs,
  ArchiveArgs,
  ClusterArgs,
  EventBusArgs,
  GuardsArgs,
  MonitoringArgs,
  OutsideEventsArgs,
  PlacementArgs,
  PodArgs,
  TracesArgs,
  TracesHeadersArgs,
} from "./arguments";
import { later } from "./inputs";
import { SMALLEST_STORAGE } from "./manifests/eventPath/eventBus";
import { EVENT_BUS_REPLICAS } from "./manifests/eventPath/options";
import type { Toleration } from "./manifests/kinds";
import type { Quota } from "./manifests/operator/quota";
import { SSL_MODES } from "./manifests/platform/archive";
import { ARGO_MODES } from "./manifests/platform/options";
import { POD_PARTS } from "./manifests/pods";
import { bytesOf } from "./manifests/resources";
import { WORKLOAD_KEYS } from "./manifests/workloads";

/** The schemas of the arguments' parts: what each argument may be by itself. */

/** The longest time in seconds that fits into 32 bits, as Argo stores it. */
const LONGEST_SECONDS = 2 ** 31 - 1;
/** A century. Beyond it, Argo's time overflows. */
const MOST_DAYS = 36_500;

/** The value of a label. An empty value does not count here. */
export const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_KEY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const REGISTRY = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]+)?(\/[a-z0-9][-a-z0-9._]*)*$/;

/** A schema for every argument of a component, and for no others. */
export type Schemas<Args> = Record<keyof Args, z.ZodType>;

/** A name of a namespace. */
export const namespace = pattern(DNS_LABEL, "the name of a namespace", "Name one, for example argosy.");
/** How a half of Argo comes into the cluster. */
export const mode = oneOf(ARGO_MODES, 'The default is "install".');
/** How long something is kept, in seconds. */
export const kept = integer(0, LONGEST_SECONDS, "Give seconds, for example 3600.");
/** A boolean that is false by default. */
export const off = flag("The default is false.").default(false);

/** A {@link ClusterArgs}. */
export const cluster = fields(
  {
    kubeconfig: later(text("Give the text of a kubeconfig, or the path of its file.")).optional(),
    context: later(text("kubectl config get-contexts shows them.")).optional(),
    clusterIdentifier: later(text("Give the cluster a name of your own.")).optional(),
  } satisfies Schemas<ClusterArgs>,
  "Give kubeconfig, context, or both.",
);

const toleration = fields(
  {
    key: text("Name the taint's key.").optional(),
    operator: oneOf(["Exists", "Equal"], "Leave it out for Equal.").optional(),
    value: anyText("Quote it.").optional(),
    effect: oneOf(
      ["NoSchedule", "PreferNoSchedule", "NoExecute"],
      "Leave it out for all of them.",
    ).optional(),
    tolerationSeconds: integer(0, LONGEST_SECONDS, "Leave it out for ever.").optional(),
  } satisfies Schemas<Toleration>,
  "Write a toleration as in a pod, for example { key: dedicated, operator: Exists }.",
);

const texts = (remedy: string) => mapOf(anyText("Quote it."), later(anyText("Quote it.")), remedy);

const podFields = {
  nodeSelector: texts("Give labels of nodes, for example { disk: ssd }."),
  tolerations: listOf(toleration, "Give a list of tolerations."),
  affinity: anyObject("Write an affinity as in a pod.").optional(),
  priorityClassName: later(text("Name a PriorityClass.")).optional(),
  labels: texts("Give labels, for example { team: shop }.").optional(),
  annotations: texts("Give annotations, for example { team: shop }.").optional(),
  serviceAccountAnnotations: texts(
    "Give annotations, for example { eks.amazonaws.com/role-arn: ... }.",
  ).optional(),
} satisfies Schemas<PodArgs>;

const pod = fields(
  {
    ...podFields,
    nodeSelector: podFields.nodeSelector.optional(),
    tolerations: podFields.tolerations.optional(),
  },
  "Give fields of a pod, for example { nodeSelector: { disk: ssd } }.",
);

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

const figures = mapOf(
  anyText("Quote it."),
  text("Give a quantity."),
  'Give quantities, for example { memory: "1Gi" }.',
);

/** The choices for everything that Argosy makes. `checkWorkloadOptions` checks those that depend on others. */
export const workloads = {
  images: anyOf(
    WORKLOAD_KEYS.images,
    text('Give a reference, for example "registry.example.com/node:22.20.0".'),
    'Give images by name, for example { node: "@sha256:..." }.',
  ).optional(),
  resources: anyOf(
    WORKLOAD_KEYS.resources,
    fields({ requests: figures.optional(), limits: figures.optional() }, "Give requests, limits, or both."),
    "Give resources by container, for example { runner: { limits: { memory: 1Gi } } }.",
  ).optional(),
  pods: fields(
    {
      ...Object.fromEntries(POD_PARTS.map((part) => [part, pod.optional()])),
      operators: mapOf(anyText("Name an operator."), pod, "Give fields of pods by operator.").optional(),
    },
    "Give fields of pods by part, for example { sensor: { priorityClassName: high } }.",
  ).optional(),
  transform: anyOf(
    WORKLOAD_KEYS.transform,
    z.custom((value) => typeof value === "function", "is no function\nGive a function of the manifest."),
    "Give functions by part, for example { runner: (deployment) => { ... } }.",
  ).optional(),
};

/** A {@link PlacementArgs}. */
export const placement = fields(
  {
    ...podFields,
    registry: later(
      pattern(
        REGISTRY,
        "a registry",
        'Give host and path without a scheme, for example "mirror.example.com/hub".',
      ),
    ).optional(),
    imagePullSecrets: listOf(later(text("Name a Secret.")), "Give a list of names of Secrets.").default([]),
    nodeSelector: podFields.nodeSelector.default({}),
    tolerations: podFields.tolerations.default([]),
  } satisfies Schemas<PlacementArgs>,
  `Give any of registry, imagePullSecrets, ${Object.keys(podFields).join(", ")}.`,
);

/** An {@link ArchiveArgs}. */
export const archive = fields(
  {
    host: later(
      pattern(/^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$/, "a host", "Give its name or address."),
    ),
    port: integer(1, 65_535, "Leave it out for 5432.").optional(),
    database: later(pattern(/^[A-Za-z_][A-Za-z0-9_-]{0,62}$/, "the name of a database", "Give its name.")),
    secret: later(
      pattern(
        /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/,
        "the name of a Secret",
        "Name one in the controllers' namespace, with the keys username and password.",
      ),
    ),
    sslMode: oneOf(SSL_MODES, 'Leave it out for "require".').optional(),
    keptDays: integer(1, MOST_DAYS, "Leave it out for 90.").optional(),
    // Argo writes the name into the statements that make its tables (persist/sqldb/migrate.go).
    clusterName: pattern(DNS_LABEL, "a DNS label", 'Leave it out for "default".').optional(),
  } satisfies Schemas<ArchiveArgs>,
  "Give host, database and secret, or {} for none.",
);

const labels = mapOf(
  pattern(LABEL_KEY, "the key of a label", 'Give one, for example "release".'),
  later(pattern(LABEL_VALUE, "the value of a label", 'Give one, for example "prometheus".')),
  "Give labels, for example { release: prometheus }.",
);

/** A {@link MonitoringArgs}. */
export const monitoring = fields(
  {
    podMonitor: flag("Leave it out for false.").optional(),
    alertRules: flag("Leave it out for false.").optional(),
    dashboard: flag("Leave it out for false.").optional(),
    labels: labels.optional(),
    dashboardLabels: labels.optional(),
    namespace: pattern(
      DNS_LABEL,
      "the name of a namespace",
      "Name the one that Prometheus runs in, or leave it out.",
    ).optional(),
  } satisfies Schemas<MonitoringArgs>,
  "Give any of podMonitor, alertRules, dashboard, labels, dashboardLabels and namespace.",
);

const busFields = {
  replicas: integer(1, 7, "Give 1, or an odd number from 3 to 7.")
    .refine((replicas) => EVENT_BUS_REPLICAS.includes(replicas), {
      error: ({ input }) => `is ${input}\nGive 1, or an odd number from 3 to 7.`,
    })
    .default(1),
  storage: text('Give a size of 128Mi or more, for example "1Gi".', (size) =>
    sizeOf(size) >= SMALLEST_STORAGE ? undefined : `is "${size}"`,
  ).optional(),
  storageClassName: pattern(
    /^[a-z0-9][-a-z0-9.]*$/,
    "a storage class",
    "kubectl get storageclass shows them.",
  ).optional(),
} satisfies Schemas<EventBusArgs>;

/** An {@link EventBusArgs}. */
export const eventBus = fields(busFields, "Give any of replicas, storage and storageClassName.").superRefine(
  checkStorageClassName,
);

/** An {@link OutsideEventsArgs}. */
export const outsideEvents = fields(
  {
    ...busFields,
    intakes: integer(1, 5, "The intakes share the work, and a single one is enough: give 1 or 2.").default(1),
  } satisfies Schemas<OutsideEventsArgs>,
  "Give any of replicas, storage, storageClassName and intakes.",
).superRefine(checkStorageClassName);

function checkStorageClassName(
  { storage, storageClassName }: { storage?: string | undefined; storageClassName?: string | undefined },
  context: Parameters<typeof complainIn>[0],
): void {
  if (storage !== undefined || storageClassName === undefined) return;
  complainIn(context)(["storageClassName"], "is given without storage", "Give the volume's size as well.");
}

const groups = (remedy: string) => listOf(text("Name a group."), remedy);

/** A {@link GuardsArgs}. */
export const guards = fields(
  {
    children: flag("Leave it out for false.").optional(),
    annotations: fields(
      {
        groups: groups('Give the groups that may set them, for example ["platform-team"].'),
      } satisfies Schemas<AnnotationsGuardArgs>,
      'Give groups, for example { groups: ["platform-team"] }.',
    ).optional(),
    exempt: groups('Give groups, for example ["system:serviceaccounts:velero"].').optional(),
  } satisfies Schemas<GuardsArgs>,
  "Give any of children, annotations and exempt.",
).superRefine(({ children, annotations, exempt }, context) => {
  if (exempt === undefined || children || annotations) return;
  complainIn(context)(["exempt"], "is given without a guard", "Set children to true, or give annotations.");
});

/** A {@link TracesArgs}. */
export const traces = fields(
  {
    // The address must be known now, so that it can be checked for a password.
    endpoint: text(
      'Give the address of a collector without a password, for example "http://collector.monitoring:4318".',
      endpointProblem,
    ),
    headers: fields(
      {
        secret: text("Name a Secret in the operators' namespace."),
        key: text("Name the key of the Secret that contains the headers."),
      } satisfies Schemas<TracesHeadersArgs>,
      "Give secret and key.",
    ).optional(),
    oneIn: integer(1, 1_000_000, "Leave it out for 1: every run.").optional(),
  } satisfies Schemas<TracesArgs>,
  "Give endpoint, and if needed headers and oneIn, or {} for none.",
);

/** A `Quota`. */
export const quota = fields(
  {
    pods: integer(1, 10_000, "Leave it out for the operator's concurrency.").optional(),
    requests: figures.optional(),
    limits: figures.optional(),
  } satisfies Schemas<Quota>,
  'Give any of pods, requests and limits, for example { requests: { cpu: "2" } }.',
);

/** The bytes of a quantity. 0 if it is no quantity. */
function sizeOf(quantity: string): number {
  try {
    return bytesOf(quantity);
  } catch {
    return 0;
  }
}
