import {
  anyText,
  DNS_LABEL,
  fields,
  flag,
  INSTALLATION_SHAPE,
  integer,
  listOf,
  mapOf,
  oneOf,
  optional,
  pattern,
  type Shape,
  text,
} from "../../runtime/program";
import { SMALLEST_STORAGE } from "../manifests/eventPath/eventBus";
import { EVENT_BUS_REPLICAS } from "../manifests/eventPath/options";
import type { ArchiveOptions } from "../manifests/platform/archive";
import type { Installation } from "../manifests/platform/options";
import type { PodPlacement } from "../manifests/pods";
import { bytesOf } from "../manifests/resources";
import { ARCHIVE_SHAPE } from "./archiveShape";
import { MONITORING_SHAPE, type MonitoringSettings } from "./monitoringShape";

/** What a stack holds: everything, or a platform and its operators in a stack each. */
export type Parts = "all" | "platform" | "operators";

/** A stack's configuration by the keys of Pulumi.yaml, which describes each. Where a text is "", it means none. */
export interface Settings
  extends Required<Pick<PodPlacement, "imagePullSecrets" | "nodeSelector" | "tolerations">> {
  readonly parts: Parts;
  readonly platformStack: string;
  readonly name: string;
  readonly installation: string;
  readonly namespace: string;
  readonly controllerNamespace: string;
  readonly createNamespaces: boolean;
  readonly argoEvents: Installation;
  readonly argoWorkflows: Installation;
  readonly instanceId: string;
  readonly jetStreamVersion: string;
  readonly eventBusReplicas: number;
  readonly eventBusStorage: string;
  readonly eventBusStorageClass: string;
  readonly runnerReplicas: number;
  readonly runsKeptSeconds: number;
  readonly failedRunsKeptSeconds: number;
  /** Without any field: none. */
  readonly archive: ArchiveOptions | Readonly<Record<string, never>>;
  readonly monitoring: MonitoringSettings;
  readonly registry: string;
  readonly protect: boolean;
}

const IMAGE_PREFIX = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]+)?(\/[a-z0-9][-a-z0-9._]*)*$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
/** The longest time that is a 32-bit number of seconds, as Argo has it. */
const LONGEST_SECONDS = 2 ** 31 - 1;

const namespaceShape = pattern(DNS_LABEL, "the name of a namespace", "Name one, for example argosy.");
const installationShape = oneOf(["install", "share", "adopt"], 'The default is "install".');
const keptShape = integer(0, LONGEST_SECONDS, "Give seconds, for example 3600.");

const tolerationShape = fields(
  {
    key: optional(text("Name the taint's key.")),
    operator: optional(oneOf(["Exists", "Equal"], "Leave it out for Equal.")),
    value: optional(anyText("Quote it.")),
    effect: optional(oneOf(["NoSchedule", "PreferNoSchedule", "NoExecute"], "Leave it out for all of them.")),
    tolerationSeconds: optional(integer(0, LONGEST_SECONDS, "Leave it out for ever.")),
  },
  "Write a toleration as in a pod, for example { key: dedicated, operator: Exists }.",
);

/** The shape of each key's value. Those of a text are given by Pulumi as they are, all others as JSON. */
export const SETTING_SHAPES: Readonly<Record<keyof Settings, Shape>> = {
  parts: oneOf(["all", "platform", "operators"], 'The default is "all".'),
  platformStack: orNone(
    pattern(
      /^[^/\s]+(\/[^/\s]+){0,2}$/,
      "the name of a stack",
      'Give "organization/project/stack", as pulumi stack ls --all shows it.',
    ),
  ),
  name: pattern(
    /^[a-z]([-a-z0-9]{0,28}[a-z0-9])?$/,
    "a DNS label of at most 30 characters",
    'Give one, for example "argosy".',
  ),
  installation: INSTALLATION_SHAPE,
  namespace: namespaceShape,
  controllerNamespace: namespaceShape,
  createNamespaces: flag("The default is true."),
  argoEvents: installationShape,
  argoWorkflows: installationShape,
  instanceId: orNone(pattern(LABEL_VALUE, "the value of a label", 'The default is "argosy".')),
  jetStreamVersion: orNone(pattern(/^[\w.-]+$/, "a version", 'Give one, for example "2.10.29".')),
  eventBusReplicas: {
    remedy: "Give 1, or an odd number from 3 to 7.",
    check(value, field, report) {
      if (!EVENT_BUS_REPLICAS.includes(value as number))
        report(field, `is ${JSON.stringify(value)}`, this.remedy);
    },
  },
  eventBusStorage: orNone(
    text('Give a size of 128Mi or more, for example "1Gi", or "" for none.', (value) =>
      sizeOf(value) >= SMALLEST_STORAGE ? undefined : `is "${value}"`,
    ),
  ),
  eventBusStorageClass: orNone(
    pattern(/^[a-z0-9][-a-z0-9.]*$/, "a storage class", "kubectl get storageclass shows them."),
  ),
  runnerReplicas: integer(1, 5, "One leads, the others stand by: 1 or 2."),
  runsKeptSeconds: keptShape,
  failedRunsKeptSeconds: keptShape,
  archive: ARCHIVE_SHAPE,
  monitoring: MONITORING_SHAPE,
  registry: orNone(
    pattern(
      IMAGE_PREFIX,
      "a registry",
      'Give host and path without a scheme, for example "mirror.example.com/hub".',
    ),
  ),
  imagePullSecrets: listOf(text("Name a Secret."), "Give a list of names of Secrets."),
  nodeSelector: mapOf(
    anyText("Quote it."),
    anyText("Quote it."),
    "Give labels of nodes, for example { disk: ssd }.",
  ),
  tolerations: listOf(tolerationShape, "Give a list of tolerations."),
  protect: flag("The default is false."),
};

/** Keys whose value is a text, which must not be read as JSON: the version "2.10" is not the number 2.1. */
const TEXTS: readonly (keyof Settings)[] = [
  "parts",
  "platformStack",
  "name",
  "installation",
  "namespace",
  "controllerNamespace",
  "argoEvents",
  "argoWorkflows",
  "instanceId",
  "jetStreamVersion",
  "eventBusStorage",
  "eventBusStorageClass",
  "registry",
];

/** A value of Pulumi's configuration, which is text, as what its key stands for. */
export function parseSetting(key: string, value: string): unknown {
  if ((TEXTS as readonly string[]).includes(key)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** The bytes of a quantity; 0 of what is none. */
function sizeOf(quantity: string): number {
  try {
    return bytesOf(quantity);
  } catch {
    return 0;
  }
}

/** The same shape, or "". */
function orNone(shape: Shape): Shape {
  return {
    remedy: shape.remedy,
    check(value, field, report) {
      if (value !== "") shape.check(value, field, report);
    },
  };
}
