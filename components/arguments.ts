import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import {
  anyObject,
  anyText,
  check,
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
import { INSTALLATION } from "../definition/fields/identity";
import { DNS_LABEL } from "../definition/fields/terms";
import type { Report } from "../definition/problems";
import type { OperatorOverrides } from "../definition/schema";
import { DEFAULT_INSTALLATION, endpointProblem, type Operator } from "../runtime/program";
import { ConfigurationError } from "./errors";
import { isInput, later } from "./inputs";
import { SMALLEST_STORAGE } from "./manifests/eventPath/eventBus";
import { EVENT_BUS_REPLICAS, type EventBusOptions } from "./manifests/eventPath/options";
import type { Affinity, Toleration } from "./manifests/kinds";
import type { GuardOptions } from "./manifests/operator/guards";
import type { TracesOptions } from "./manifests/operator/options";
import type { Quota } from "./manifests/operator/quota";
import { type ArchiveOptions, SSL_MODES } from "./manifests/platform/archive";
import { JETSTREAM_VERSION } from "./manifests/platform/argoEvents";
import {
  ARGO_MODES,
  type ArgoMode,
  type MonitoringOptions,
  ownsController,
  type Platform,
  type PlatformOptions,
} from "./manifests/platform/options";
import type { PodPart } from "./manifests/pods";
import { bytesOf } from "./manifests/resources";
import { checkWorkloadOptions, WORKLOAD_KEYS, type WorkloadOptions } from "./manifests/workloads";

/** The arguments of the components: their types, and the schemas that have every default and every check. */

/** A cluster, as Pulumi's Kubernetes provider has it. */
export interface ClusterArgs {
  /** The text of a kubeconfig, or the path of its file. @default `$KUBECONFIG`, else `~/.kube/config` */
  readonly kubeconfig?: pulumi.Input<string>;
  /** The context to use. @default the current context of the kubeconfig */
  readonly context?: pulumi.Input<string>;
}

/** What pods have of a program's own choice, in Kubernetes' own fields. */
export interface PodArgs {
  /** Labels of the nodes that the pods run on. @default {} */
  readonly nodeSelector?: Readonly<Record<string, pulumi.Input<string>>>;
  /** Tolerations of the pods. @default [] */
  readonly tolerations?: readonly Toleration[];
  /** Which nodes the pods need or prefer. @default members of an event bus prefer nodes and zones of their own */
  readonly affinity?: Affinity;
  /** The PriorityClass of the pods. @default the cluster's default */
  readonly priorityClassName?: pulumi.Input<string>;
  /** Labels beside Argosy's own. @default none */
  readonly labels?: Readonly<Record<string, pulumi.Input<string>>>;
  /** Annotations beside Argosy's own. @default none */
  readonly annotations?: Readonly<Record<string, pulumi.Input<string>>>;
  /**
   * Annotations of the service account that the pods run as, by which clouds give it an identity of theirs, such as
   * `eks.amazonaws.com/role-arn`. @default none
   */
  readonly serviceAccountAnnotations?: Readonly<Record<string, pulumi.Input<string>>>;
}

/** Where every pod runs, and where its image comes from. */
export interface PlacementArgs extends PodArgs {
  /** A mirror that all images are pulled from, in place of their own registries. @default none */
  readonly registry?: pulumi.Input<string>;
  /** Secrets for pulling images, in both namespaces. @default [] */
  readonly imagePullSecrets?: readonly pulumi.Input<string>[];
}

/** What a program chooses of everything that Argosy makes. */
export interface WorkloadArgs extends Pick<WorkloadOptions, "images" | "resources" | "transform"> {
  /** Where every pod runs, and where its image comes from. @default anywhere, from the images' own registries */
  readonly placement?: PlacementArgs;
  /**
   * Of the pods of one part, and of one operator by its name. Labels, annotations and node selectors are added to those of
   * all pods, and so are tolerations. An affinity or a priority class takes the place of the general one.
   * @default as all pods
   */
  readonly pods?: Readonly<Partial<Record<PodPart, PodArgs>>> & {
    readonly operators?: Readonly<Record<string, PodArgs>>;
  };
}

/** A PostgreSQL in which Argo Workflows keeps runs. */
export interface ArchiveArgs extends Omit<ArchiveOptions, "host" | "database" | "secret"> {
  /** Name or address of the PostgreSQL. */
  readonly host: pulumi.Input<string>;
  /** The database. Its user must own it. */
  readonly database: pulumi.Input<string>;
  /**
   * The name of a Secret in the namespace of Argo's controllers. It has the keys `username` and `password`, and also
   * `ca.crt` if `sslMode` begins with "verify-".
   */
  readonly secret: pulumi.Input<string>;
}

/** A collector of traces, by OTLP over HTTP. */
export interface TracesArgs {
  /** Its address, without a password in it, such as "http://collector.monitoring:4318". `/v1/traces` follows it. */
  readonly endpoint: string;
  /**
   * A Secret in the operators' namespace, and the key of it that has headers for the collector, as
   * `OTEL_EXPORTER_OTLP_HEADERS` has them: `key=value,key=value`. @default no headers
   */
  readonly headers?: TracesHeadersArgs;
  /** With 20, one run in 20 is traced. @default 1 */
  readonly oneIn?: number;
}

/** A key of a Secret with headers. */
export interface TracesHeadersArgs {
  /** The Secret's name. */
  readonly secret: string;
  /** The key in it. */
  readonly key: string;
}

/** What of the monitoring is made, and how a Prometheus Operator and a Grafana find it. */
export interface MonitoringArgs extends Omit<MonitoringOptions, "labels" | "dashboardLabels"> {
  /** Labels of PodMonitor and PrometheusRule, by which the Prometheus Operator selects them. @default none */
  readonly labels?: Readonly<Record<string, pulumi.Input<string>>>;
  /** Labels of the dashboard's ConfigMap, by which Grafana's sidecar finds it. @default grafana_dashboard: "1" */
  readonly dashboardLabels?: Readonly<Record<string, pulumi.Input<string>>>;
}

/** What an `ArgoPlatform` is made from. Every argument may be left out. */
export interface ArgoPlatformArgs extends WorkloadArgs {
  /** Where operators, their events and their runs live. @default "argosy" */
  readonly namespace?: string;
  /** Where Argo's controllers live. @default "argosy-system" */
  readonly controllerNamespace?: string;
  /** Whether to create these two namespaces. With false they must be there. @default true */
  readonly createNamespaces?: boolean;
  /**
   * How Argo Events comes into the cluster: "install" (its CRDs and a controller of our own), "share" (the CRDs are
   * there, the controller is our own), "adopt" (both are there), "none" (operators do without it). @default "install"
   */
  readonly argoEvents?: ArgoMode;
  /**
   * The same for Argo Workflows. With "adopt", set instanceId to that of the controller that is there.
   * @default "install"
   */
  readonly argoWorkflows?: ArgoMode;
  /**
   * The instance id of the Workflow controller, which handles only Workflows labelled with it. "" for none.
   * @default "argosy"
   */
  readonly instanceId?: string;
  /**
   * With argoEvents "adopt", the event bus's version: a JetStream version that the existing controller is configured for.
   * @default that of Argosy's own controller
   */
  readonly jetStreamVersion?: string;
  /**
   * A PostgreSQL in which Argo Workflows keeps runs for longer, as host, database and secret, and if need be port,
   * sslMode, keptDays and cluster. @default none
   */
  readonly archive?: ArchiveArgs;
  /**
   * Any of podMonitor, alertRules and dashboard as true, labels and dashboardLabels by which Prometheus Operator and
   * Grafana find these, and the namespace that Prometheus runs in. @default none
   */
  readonly monitoring?: MonitoringArgs;
  /** How many Workflows the Workflow controller, if it is ours, looks after at once. The others wait. @default 500 */
  readonly parallelism?: number;
  /** Whether Pulumi refuses to delete what data hangs on: CRDs, namespaces. @default false */
  readonly protect?: boolean;
  /**
   * The cluster. With an explicit provider it only says where the checks look, and the provider makes the objects.
   * @default that of the provider: `kubernetes:kubeconfig` and `kubernetes:context`
   */
  readonly cluster?: ClusterArgs;
}

/** The size of the event bus. */
export interface EventBusArgs {
  /** Members of the event bus, 1 or an odd number from 3. @default 1 */
  readonly replicas?: number;
  /** Size of each member's volume, such as "1Gi". @default none: events are kept in the pod, for as long as it lives */
  readonly storage?: string;
  /** Storage class of these volumes. @default the cluster's default */
  readonly storageClass?: string;
}

/** What carries events from outside. */
export interface OutsideEventsArgs {
  /** Members of the event bus of events from outside, 1 or an odd number from 3. @default 1 */
  readonly replicas?: number;
  /**
   * Size of the volume of each of these members, such as "1Gi". Required if an operator has `on`, since an event that was
   * accepted is nowhere else. @default none
   */
  readonly storage?: string;
  /** Storage class of these volumes. @default the cluster's default */
  readonly storageClass?: string;
  /** Pods of the intake, which makes custom resources of these events. @default 1 */
  readonly intakes?: number;
}

/** A component that has a platform: an `ArgoPlatform`, or `Operators` that made one. */
export interface PlatformComponent extends pulumi.ComponentResource {
  readonly platform: Platform;
}

/** Who may set annotations of Argosy's on custom resources, such as `argosy.dev/paused`. */
export interface AnnotationsGuardArgs {
  /** Groups of users, beside Argosy and cluster administrators. */
  readonly groups: readonly string[];
}

/** What keeps others from writing what is Argosy's, whatever RBAC allows them. */
export interface GuardsArgs {
  /** Whether only the operators change and delete their children, and make objects with their marks. @default false */
  readonly children?: boolean;
  /** Who may set annotations of Argosy's on custom resources. @default everybody who may change them */
  readonly annotations?: AnnotationsGuardArgs;
  /** Groups that no guard stops, such as `system:serviceaccounts:velero`. @default [] */
  readonly exempt?: readonly string[];
}

/** What `Operators` are made from. */
export interface OperatorsArgs extends WorkloadArgs {
  /**
   * The folder with a folder for each operator, relative to the program's folder. Or operators that `loadOperators` has
   * loaded.
   */
  readonly handlers: string | readonly Operator[];
  /**
   * What this stack says in the place of the operators' own definitions, by the operators' names. With operators that are
   * loaded already, give it to `loadOperators`. @default nothing
   */
  readonly overrides?: Readonly<Record<string, OperatorOverrides | undefined>>;
  /**
   * A platform of this program, the platform of another stack (see `platformOfStack`), or arguments for one to make. A
   * component is known as such, and a platform by its `argosyVersion`. All else are arguments.
   * @default a platform with all defaults
   */
  readonly platform?: PlatformComponent | Platform | ArgoPlatformArgs;
  /**
   * Tells these operators from all others in the same cluster, in finalizers, labels, field managers and leases, and names
   * their event bus, event source and sensor. At most 20 characters. A change of it renames every operator: see
   * formerNames. @default "argosy"
   */
  readonly installation?: string;
  /** The size of the event bus. @default one member, without a volume */
  readonly eventBus?: EventBusArgs;
  /**
   * Rules of the API server that keep everybody but Argosy from writing what is Argosy's: children as true, annotations with
   * the groups that may set them, and in exempt the groups that nothing of this stops. @default none
   */
  readonly guards?: GuardsArgs;
  /** What carries events from outside to operators that have `on`. @default one member of a bus, without a volume, and one intake */
  readonly outsideEvents?: OutsideEventsArgs;
  /**
   * All that the pods of an operator's runs may have together, by the names of operators of the form "pod". Runs for which
   * there is no room wait. @default no limit but the operator's concurrency
   */
  readonly quotas?: Readonly<Record<string, Quota>>;
  /** Runners of each resident operator. One leads, the others stand by. @default 1 */
  readonly replicas?: pulumi.Input<number>;
  /** How long the Workflow of a run that succeeded is kept. @default 3600 */
  readonly runsKeptSeconds?: number;
  /** How long the Workflow of a run that failed is kept. @default 86400 */
  readonly failedRunsKeptSeconds?: number;
  /**
   * Where runs are sent as traces, by OTLP over HTTP: endpoint, and if need be headers with the secret and the key that has
   * them, and oneIn: with 20, one run in 20 is traced. @default none
   */
  readonly traces?: TracesArgs;
  /** Whether Pulumi refuses to delete what data hangs on: every CRD, the event bus, the namespaces. @default false */
  readonly protect?: boolean;
  /**
   * The cluster. With an explicit provider it only says where the checks look, and the provider makes the objects.
   * @default that of the provider: `kubernetes:kubeconfig` and `kubernetes:context`
   */
  readonly cluster?: ClusterArgs;
}

/** The longest time that is a 32-bit number of seconds, as Argo has it. */
const LONGEST_SECONDS = 2 ** 31 - 1;
/** A century: beyond it, Argo's time overflows. */
const MOST_DAYS = 36_500;
/** What is built for a number of runners that is only known later: several. */
const SEVERAL_RUNNERS = 2;

const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_KEY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const REGISTRY = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]+)?(\/[a-z0-9][-a-z0-9._]*)*$/;

/** A schema for every argument of a component, and for no others. */
type Schemas<Args> = Record<keyof Args, z.ZodType>;

const namespace = pattern(DNS_LABEL, "the name of a namespace", "Name one, for example argosy.");
const mode = oneOf(ARGO_MODES, 'The default is "install".');
const kept = integer(0, LONGEST_SECONDS, "Give seconds, for example 3600.");
const off = flag("The default is false.").default(false);

const cluster = fields(
  {
    kubeconfig: later(text("Give the text of a kubeconfig, or the path of its file.")).optional(),
    context: later(text("kubectl config get-contexts shows them.")).optional(),
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

/** What is chosen of everything that Argosy makes. What depends on more is checked by `checkWorkloadOptions`. */
const workloads = {
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
      ...Object.fromEntries(
        WORKLOAD_KEYS.pods.filter((part) => part !== "operators").map((part) => [part, pod.optional()]),
      ),
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

const placement = fields(
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
  "Give what you want of registry, imagePullSecrets, nodeSelector and tolerations.",
);

const archive = fields(
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
    // Argo writes it into the statements that make its tables (persist/sqldb/migrate.go).
    cluster: pattern(DNS_LABEL, "a DNS label", 'Leave it out for "default".').optional(),
  } satisfies Schemas<ArchiveArgs>,
  "Give host, database and secret, or {} for none.",
);

const labels = mapOf(
  pattern(LABEL_KEY, "the key of a label", 'Give one, for example "release".'),
  later(pattern(LABEL_VALUE, "the value of a label", 'Give one, for example "prometheus".')),
  "Give labels, for example { release: prometheus }.",
);

const monitoring = fields(
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
  "Give what you want of podMonitor, alertRules, dashboard, labels, dashboardLabels and namespace.",
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
  storageClass: pattern(
    /^[a-z0-9][-a-z0-9.]*$/,
    "a storage class",
    "kubectl get storageclass shows them.",
  ).optional(),
} satisfies Schemas<EventBusArgs>;

const eventBus = fields(busFields, "Give what you want of replicas, storage and storageClass.").superRefine(
  checkStorageClass,
);

const outsideEvents = fields(
  {
    ...busFields,
    intakes: integer(1, 5, "They share the work, and one can do it: give 1 or 2.").default(1),
  } satisfies Schemas<OutsideEventsArgs>,
  "Give what you want of replicas, storage, storageClass and intakes.",
).superRefine(checkStorageClass);

function checkStorageClass(
  { storage, storageClass }: { storage?: string | undefined; storageClass?: string | undefined },
  context: Parameters<typeof complainIn>[0],
): void {
  if (storage !== undefined || storageClass === undefined) return;
  complainIn(context)(["storageClass"], "is given without storage", "Give the volume's size as well.");
}

const groups = (remedy: string) => listOf(text("Name a group."), remedy);

const guards = fields(
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
  "Give what you want of children, annotations and exempt.",
).superRefine(({ children, annotations, exempt }, context) => {
  if (exempt === undefined || children || annotations) return;
  complainIn(context)(["exempt"], "is given without a guard", "Set children to true, or give annotations.");
});

const traces = fields(
  {
    // Never known later: what it must not have in it can only be checked now.
    endpoint: text(
      'Give the address of a collector without a password, for example "http://collector.monitoring:4318".',
      endpointProblem,
    ),
    headers: fields(
      {
        secret: text("Name a Secret in the operators' namespace."),
        key: text("Name the key of the Secret that has the headers."),
      } satisfies Schemas<TracesHeadersArgs>,
      "Give secret and key.",
    ).optional(),
    oneIn: integer(1, 1_000_000, "Leave it out for 1: every run.").optional(),
  } satisfies Schemas<TracesArgs>,
  "Give endpoint, and if need be headers and oneIn, or {} for none.",
);

const quota = fields(
  {
    pods: integer(1, 10_000, "Leave it out for the operator's concurrency.").optional(),
    requests: figures.optional(),
    limits: figures.optional(),
  } satisfies Schemas<Quota>,
  'Give what you want of pods, requests and limits, for example { requests: { cpu: "2" } }.',
);

/** What an `ArgoPlatform` takes, with every default. */
export const PLATFORM_ARGUMENTS = fields(
  {
    namespace: namespace.default("argosy"),
    controllerNamespace: namespace.default("argosy-system"),
    createNamespaces: flag("The default is true.").default(true),
    argoEvents: mode.default("install"),
    argoWorkflows: mode.default("install"),
    instanceId: pattern(
      new RegExp(`^$|${LABEL_VALUE.source}`),
      "the value of a label",
      'The default is "argosy". Give "" for none.',
    ).default("argosy"),
    jetStreamVersion: pattern(/^[\w.-]+$/, "a version", 'Give one, for example "2.10.29".').optional(),
    archive: archive.optional(),
    monitoring: monitoring.optional(),
    parallelism: integer(1, 10_000, "Leave it out for 500.").optional(),
    ...workloads,
    placement: placement.prefault({}),
    protect: off,
    cluster: cluster.optional(),
  } satisfies Schemas<ArgoPlatformArgs>,
  "Give the arguments of a platform.",
).superRefine((args, context) => {
  const report = complainIn(context);
  const { namespace, controllerNamespace, createNamespaces, argoEvents, argoWorkflows } = args;
  if (namespace === controllerNamespace) {
    const remedy =
      "Give Argo's controllers a namespace of their own: their tokens are none of the operators' business.";
    report(["controllerNamespace"], `is "${controllerNamespace}", as namespace is`, remedy);
  }
  for (const [key, name] of Object.entries({ namespace, controllerNamespace })) {
    if (!createNamespaces || (name !== "default" && !name.startsWith("kube-"))) continue;
    report(
      [key],
      `is "${name}", which is Kubernetes' own`,
      "Name another, or set createNamespaces to false.",
    );
  }
  // Without one ours takes every Workflow that has no label, and so does the controller beside it.
  if (args.instanceId === "" && argoWorkflows === "share") {
    report(["instanceId"], 'is "", and argoWorkflows is "share"', 'Give one, for example "argosy".');
  }
  if (args.jetStreamVersion !== undefined && argoEvents !== "adopt") {
    const complaint = `is "${args.jetStreamVersion}", and argoEvents is "${argoEvents}"`;
    report(["jetStreamVersion"], complaint, "Leave it out: only a controller that is there has another one.");
  }
  if (args.archive && !ownsController(argoWorkflows)) {
    const remedy =
      argoWorkflows === "adopt"
        ? "Configure the archive of the controller that is there."
        : 'Leave it out, or set argoWorkflows to "install".';
    report(["archive"], `is given, and argoWorkflows is "${argoWorkflows}"`, remedy);
  }
});

/** What `Operators` take, with every default, beside the operators and the platform. */
export const OPERATORS_ARGUMENTS = fields(
  {
    handlers: z.unknown().optional(),
    overrides: z.unknown().optional(),
    platform: z.unknown().optional(),
    installation: INSTALLATION.default(DEFAULT_INSTALLATION),
    eventBus: eventBus.prefault({}),
    guards: guards.optional(),
    outsideEvents: outsideEvents.prefault({}),
    quotas: mapOf(anyText("Name an operator."), quota, "Give quotas by operator.").optional(),
    ...workloads,
    placement: placement.prefault({}),
    replicas: z
      .preprocess(
        (replicas) => (isInput(replicas) ? SEVERAL_RUNNERS : replicas),
        integer(1, 5, "One leads, the others stand by: 1 or 2."),
      )
      .default(1),
    runsKeptSeconds: kept.default(3600),
    failedRunsKeptSeconds: kept.default(86_400),
    traces: traces.optional(),
    protect: off,
    cluster: cluster.optional(),
  } satisfies Schemas<OperatorsArgs>,
  "Give the arguments of Operators.",
);

/** The arguments of a platform with every default filled in. Values that are known later are placeholders in it. */
export interface CompletePlatformArgs extends PlatformOptions {
  readonly jetStreamVersion: string;
  readonly protect: boolean;
}

/** The arguments of operators with every default filled in. Values that are known later are placeholders in it. */
export interface CompleteOperatorsArgs extends WorkloadOptions {
  readonly installation: string;
  readonly eventBus: EventBusOptions;
  readonly guards?: GuardOptions;
  readonly outsideEvents: EventBusOptions & { readonly intakes: number };
  readonly quotas?: Readonly<Record<string, Quota>>;
  readonly replicas: number;
  readonly runsKeptSeconds: number;
  readonly failedRunsKeptSeconds: number;
  readonly traces?: TracesOptions;
  readonly protect: boolean;
}

/**
 * Checks the arguments of a platform, and fills in the defaults.
 * @param component what the error calls the component: `ArgoPlatform "argosy"`
 * @throws ConfigurationError that names every argument that is wrong
 */
export function completePlatformArgs(args: ArgoPlatformArgs, component: string): CompletePlatformArgs {
  const { jetStreamVersion, cluster: _, ...complete } = checked(PLATFORM_ARGUMENTS, args, component);
  const ownVersion = complete.argoEvents === "none" ? "" : JETSTREAM_VERSION;
  const options = withoutUndefined<CompletePlatformArgs>({
    ...complete,
    jetStreamVersion: jetStreamVersion ?? ownVersion,
  });
  checkWorkloads(options, component);
  return options;
}

/**
 * Checks the arguments of operators, and fills in the defaults. The operators and the platform are checked elsewhere.
 * @param component what the error calls the component: `Operators "argosy"`
 * @throws ConfigurationError that names every argument that is wrong
 */
export function completeOperatorsArgs(args: OperatorsArgs, component: string): CompleteOperatorsArgs {
  const {
    handlers: _,
    overrides: __,
    platform: ___,
    cluster: ____,
    ...complete
  } = checked(OPERATORS_ARGUMENTS, args, component);
  return withoutUndefined(complete);
}

/** Checks arguments. Of each argument the first problem is reported: what is wrong by itself is not compared with others. */
export function checkArguments<Schema extends z.ZodType>(
  schema: Schema,
  args: unknown,
  report: Report,
): z.output<Schema> | undefined {
  const reported = new Set<string>();
  return check(schema, args, (field, ...problem) => {
    if (!reported.has(field)) report(field, ...problem);
    reported.add(field);
  });
}

/**
 * Checks what is chosen of everything that Argosy makes, as far as its schema cannot.
 * @param operators the names of the operators, if they are known
 * @throws ConfigurationError that names every argument that is wrong
 */
export function checkWorkloads(
  options: WorkloadOptions,
  component: string,
  operators?: readonly string[],
): void {
  const problems = checkWorkloadOptions(options, operators);
  if (problems.length === 0) return;
  throw new ConfigurationError(
    problems.map(({ key, complaint, remedy }) => `${component}: ${key} ${complaint}. ${remedy}`),
  );
}

function checked<Schema extends z.ZodObject>(
  schema: Schema,
  args: unknown,
  component: string,
): z.output<Schema> {
  const problems: string[] = [];
  const complete = checkArguments(schema, args, (field, complaint, remedy) => {
    const isPlatforms = !(field in schema.shape) && field in PLATFORM_ARGUMENTS.shape;
    const hint = isPlatforms ? `Give it as platform: { ${field}: ... }.` : remedy;
    problems.push(`${component}: ${field === "" ? "the argument" : field} ${complaint}. ${hint}`);
  });
  if (problems.length > 0) throw new ConfigurationError(problems);
  return complete as z.output<Schema>;
}

/** Every object in a value without the fields that are undefined: zod keeps what somebody has set to undefined. */
function withoutUndefined<Value>(value: unknown): Value {
  if (typeof value !== "object" || value === null) return value as Value;
  if (Array.isArray(value)) return value.map(withoutUndefined) as Value;
  const given = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(given.map(([key, each]) => [key, withoutUndefined(each)])) as Value;
}

/** The bytes of a quantity; 0 of what is none. */
function sizeOf(quantity: string): number {
  try {
    return bytesOf(quantity);
  } catch {
    return 0;
  }
}
