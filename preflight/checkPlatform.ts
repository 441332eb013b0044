// Does the Argo to be shared exist, and none where one is to be installed?
import { checkAdoptedController } from "./checkAdoptedController";
import { checkImageVolumes } from "./checkImageVolumes";
import { checkLeftPlatform, type ExpectedData } from "./checkLeftPlatform";
import { checkNamespaces, type NeededNamespace } from "./checkNamespaces";
import { checkRestrictions } from "./checkRestrictions";
import { HALVES, type Half } from "./halves";
import { type Findings, type Look, NOTHING, together } from "./lookInCluster";
import { ifGoing, isGoing, makerOf, notOurs } from "./makers";

/** The kinds of the Prometheus Operator, each with the argument that needs it and with its CRD. */
const MONITORING_KINDS = [
  { option: "podMonitor", kind: "PodMonitor", crd: "podmonitors.monitoring.coreos.com" },
  { option: "alertRules", kind: "PrometheusRule", crd: "prometheusrules.monitoring.coreos.com" },
] as const;

/** The Workflow controller mounts Argo's program from an image into such pods. */
const INITLESS_PODS = {
  reason: "initlessPods is true",
  remedy: "Leave initlessPods out",
} as const;

const IF_OURS = " If this program installs it, name it in the option dependsOn of this component.";

/** Who installs a half of Argo, as `ArgoPlatform` has it. */
type Mode = "install" | "share" | "adopt" | "none";

/** The parts of a platform about which the cluster is asked. */
export interface ExpectedPlatform {
  /** The program that creates it, as "organization/project/stack". */
  readonly program: string;
  /** Whether the program has the namespace or CRD of this name. @default it does not say that they are kept */
  readonly has?: ExpectedData["has"];
  /** The halves of Argo that may still come: from another component of the program, or from what the platform comes after. */
  readonly coming: readonly Half["argument"][];
  readonly argoEvents: Mode;
  readonly argoWorkflows: Mode;
  /** The namespaces that it creates. */
  readonly namespaces: readonly string[];
  /** The namespaces that must exist, since it does not create them. */
  readonly needed: readonly NeededNamespace[];
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
 * platform installs, unless this program created them.
 */
export async function checkPlatform(look: Look, platform: ExpectedPlatform): Promise<Findings> {
  const all = await Promise.all([
    ...HALVES.map((half) => checkHalf(half, platform, look)),
    ...platform.namespaces.map((name) => checkNamespace(name, platform, look)),
    checkNamespaces(look, platform.needed),
    ...MONITORING_KINDS.filter(({ option }) => platform.monitoring?.[option]).map((kind) =>
      checkMonitoring(kind, look),
    ),
    checkImageVolumes(look, platform.initlessPods ? INITLESS_PODS : undefined),
    ...(platform.argoWorkflows === "adopt" ? [checkAdoptedController(look, platform)] : []),
    ...(["share", "adopt"].includes(platform.argoWorkflows) ? [checkRestrictions(look, platform)] : []),
    checkArchive(look, platform),
    ...(platform.has ? [checkLeftPlatform(look, { ...platform, has: platform.has })] : []),
  ]);
  return together(all);
}

async function checkHalf(
  { argument, title, crd }: Half,
  { [argument]: mode, program, coming }: ExpectedPlatform,
  look: Look,
): Promise<Findings> {
  const found = mode === "none" ? undefined : await look.crd(crd);
  if (found === undefined) return NOTHING;
  const complaint = `${argument} is "${mode}", but ${title} is`;
  if (mode === "install") {
    if (found === "absent") return NOTHING;
    if (makerOf(found) === program) return ifGoing(found);
    const { origin, way } = notOurs(found, `crd ${crd}`, program);
    // Another installation's Argo has complete CRDs. With ours in their place, objects would lose fields.
    const isTheirs = origin === "" && found.metadata.labels?.["app.kubernetes.io/managed-by"] !== "argosy";
    const remedy = `${isTheirs ? "Set" : `${way} Otherwise, set`} ${argument} to "share" (for Operators: platform: { ${argument}: "share" }) to install a second controller next to the existing one, or to "adopt" to use the existing one.`;
    return { problems: [`${complaint} already in the cluster (${crd}${origin}). ${remedy}`] };
  }
  const isThere = found !== "absent" && !isGoing(found);
  if (isThere || coming.includes(argument)) return NOTHING;
  const state = found === "absent" ? `not in the cluster (no ${crd})` : `being deleted (${crd})`;
  return {
    problems: [
      `${complaint} ${state}. Set ${argument} to "install" (for Operators: platform: { ${argument}: "install" }), or install ${title} first.${IF_OURS}`,
    ],
  };
}

/** In a namespace that is being deleted nothing can be created. */
async function checkNamespace(name: string, { program }: ExpectedPlatform, look: Look): Promise<Findings> {
  const found = await look.namespace(name);
  if (found === undefined || found === "absent") return NOTHING;
  if (isGoing(found)) {
    const problem =
      `the namespace ${name} is being deleted. Wait until it is gone, and run pulumi up --refresh. If it stays: ` +
      "https://github.com/argosy-dev/argosy/blob/main/docs/tasks/uninstall.md#if-the-controllers-were-deleted-first";
    return { problems: [problem] };
  }
  if (makerOf(found) === program) return NOTHING;
  const { origin, way } = notOurs(found, `namespace ${name}`, program);
  const remedy = "Otherwise, set createNamespaces to false, or name another namespace.";
  return {
    problems: [
      `createNamespaces is true, but the namespace ${name} exists already${origin}. ${way} ${remedy}`,
    ],
  };
}

async function checkMonitoring(
  { option, kind, crd }: (typeof MONITORING_KINDS)[number],
  look: Look,
): Promise<Findings> {
  if ((await look.crd(crd)) !== "absent") return NOTHING;
  const problem = `monitoring asks for ${option}, but the cluster has no ${kind} (no ${crd}). Install the Prometheus Operator first, or leave ${option} out.${IF_OURS}`;
  return { problems: [problem] };
}

/**
 * Without the Secret of the archive the Workflow controller and argo-server do not start, and Pulumi would wait for them
 * for ten minutes. This is only a warning, since the program may create the Secret after the namespace.
 */
async function checkArchive(
  look: Look,
  { archive, controllerNamespace }: ExpectedPlatform,
): Promise<Findings> {
  const isThere = archive && (await look.hasSecret(controllerNamespace, archive.secret));
  if (!archive || isThere !== false) return NOTHING;
  const warning =
    `archive names the Secret "${archive.secret}", which is not in ${controllerNamespace}. The Workflow controller does not start ` +
    "without it. Create it there, with the keys username and password: " +
    "https://github.com/argosy-dev/argosy/blob/main/docs/configuration.md#secrets says how, in the same program too.";
  return { problems: [], warnings: [warning] };
}
