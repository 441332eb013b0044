import { checkAdoptedController } from "./checkAdoptedController";
import { checkImageVolumes } from "./checkImageVolumes";
import { makerOf } from "./checkInstallation";
import { checkRestrictions } from "./checkRestrictions";
import { type Findings, type Found, type Look, together } from "./lookInCluster";

/** The halves of Argo, the argument that says how each comes into the cluster, and a CRD by which it is known. */
const HALVES = [
  { argument: "argoEvents", title: "Argo Events", crd: "eventsources.argoproj.io" },
  { argument: "argoWorkflows", title: "Argo Workflows", crd: "workflows.argoproj.io" },
] as const;

/** The kinds of the Prometheus Operator, each with the argument that needs it and with its CRD. */
const MONITORING_KINDS = [
  { option: "podMonitor", kind: "PodMonitor", crd: "podmonitors.monitoring.coreos.com" },
  { option: "alertRules", kind: "PrometheusRule", crd: "prometheusrules.monitoring.coreos.com" },
] as const;

/** The Workflow controller mounts Argo's program from an image into such pods. */
const INITLESS_PODS = {
  reason: "initlessPods is true",
  purpose: "initlessPods",
  remedy: "Leave initlessPods out",
} as const;

/** How a half of Argo comes into the cluster, as `ArgoPlatform` has it. */
type Mode = "install" | "share" | "adopt" | "none";

/** The parts of a platform about which the cluster is asked. */
export interface ExpectedPlatform {
  /** The program that creates it, as "project/stack". */
  readonly program: string;
  readonly argoEvents: Mode;
  readonly argoWorkflows: Mode;
  /** The id of the Workflow controller that handles its runs. */
  readonly instanceId: string;
  /** Whether pods have no init container of Argo's own. @default false */
  readonly initlessPods?: boolean;
  /** The Secret with the archive's user and password. @default no archive */
  readonly archive?: { readonly secret: string };
  readonly monitoring?: { readonly podMonitor?: boolean; readonly alertRules?: boolean };
  /** The namespace of the operators and of their runs. */
  readonly namespace: string;
  /** The namespace of the archive's Secret. */
  readonly controllerNamespace: string;
}

/**
 * Checks whether the cluster has the parts that the platform shares, adopts or uses, and does not yet have the parts that the
 * platform installs.
 */
export async function checkPlatform(look: Look, platform: ExpectedPlatform): Promise<Findings> {
  const all = await Promise.all([
    ...HALVES.map(async (half) => checkHalf(half, platform, await look.crd(half.crd))),
    ...MONITORING_KINDS.filter(({ option }) => platform.monitoring?.[option]).map(async (kind) =>
      checkMonitoring(kind, await look.crd(kind.crd)),
    ),
    checkImageVolumes(look, platform.initlessPods ? INITLESS_PODS : undefined),
    ...(platform.argoWorkflows === "adopt" ? [checkAdoptedController(look, platform)] : []),
    ...(["share", "adopt"].includes(platform.argoWorkflows) ? [checkRestrictions(look, platform)] : []),
    checkArchive(look, platform),
  ]);
  return together(all);
}

function checkHalf(
  { argument, title, crd }: (typeof HALVES)[number],
  platform: ExpectedPlatform,
  found: Found,
): Findings {
  const mode = platform[argument];
  if (mode === "none") return { problems: [], unseen: [] };
  if (found === undefined) return { problems: [], unseen: mode === "install" ? [] : [title] };
  const complaint = `${argument} is "${mode}"`;
  if (mode !== "install") {
    const remedy = `Set it to "install", or install ${title} first.`;
    const isAbsent = found === "absent";
    return {
      problems: isAbsent ? [`${complaint}, but ${title} is not in the cluster (no ${crd}). ${remedy}`] : [],
      unseen: [],
    };
  }
  const owner = found === "absent" ? undefined : otherOwner(found, platform.program);
  if (owner === undefined) return { problems: [], unseen: [] };
  const remedy =
    'Set it to "share" to install a controller of our own beside the other one, or to "adopt" to use the existing one.';
  return {
    problems: [`${complaint}, but ${title} is already in the cluster (${crd}${owner}). ${remedy}`],
    unseen: [],
  };
}

/** The other owner of an object, in words. Undefined if the object belongs to this program. */
function otherOwner(found: Exclude<Found, "absent" | undefined>, program: string): string | undefined {
  if (found.metadata.labels?.["app.kubernetes.io/managed-by"] !== "argosy") return "";
  const maker = makerOf(found);
  return maker === undefined || maker === program ? undefined : `, from the stack ${maker}`;
}

function checkMonitoring({ option, kind, crd }: (typeof MONITORING_KINDS)[number], found: Found): Findings {
  return {
    problems:
      found === "absent"
        ? [
            `monitoring asks for ${option}, but the cluster has no ${kind} (no ${crd}). Install the Prometheus Operator first, or leave ${option} out.`,
          ]
        : [],
    unseen: found === undefined ? ["the Prometheus Operator"] : [],
  };
}

/**
 * Without the Secret of the archive the Workflow controller and argo-server do not start, and Pulumi would wait for them
 * for ten minutes.
 */
async function checkArchive(
  look: Look,
  { archive, controllerNamespace }: ExpectedPlatform,
): Promise<Findings> {
  const isThere = archive && (await look.hasSecret(controllerNamespace, archive.secret));
  if (!archive || isThere !== false) return { problems: [], unseen: [] };
  return {
    problems: [
      `archive names the Secret "${archive.secret}", which is not in ${controllerNamespace}. Create it there, with the ` +
        `keys username and password. If the namespace does not exist yet, deploy without the archive first.`,
    ],
    unseen: [],
  };
}
