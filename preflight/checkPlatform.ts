import { checkAdoptedController } from "./checkAdoptedController";
import { checkImageVolumes } from "./checkImageVolumes";
import { checkRestrictions } from "./checkRestrictions";
import { type Findings, type Found, type Look, together } from "./lookInCluster";
import { ifGivenUp, ifRenamed, makerOf } from "./makers";

/** The halves of Argo, the argument that says who installs each, and a CRD by which it is known. */
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

/** Who installs a half of Argo, as `ArgoPlatform` has it. */
type Mode = "install" | "share" | "adopt" | "none";

/** The parts of a platform about which the cluster is asked. */
export interface ExpectedPlatform {
  /** The program that creates it, as "project/stack". */
  readonly program: string;
  readonly argoEvents: Mode;
  readonly argoWorkflows: Mode;
  /** The halves that another platform of the same program installs. @default none */
  readonly installedBeside?: readonly (typeof HALVES)[number]["argument"][];
  /** Whether it creates the two namespaces. @default true */
  readonly createNamespaces?: boolean;
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
 * Checks whether the cluster has the parts that the platform shares, adopts or uses, does not yet have the parts that the platform
 * installs, and would lose nothing that this program has created before.
 */
export async function checkPlatform(look: Look, platform: ExpectedPlatform): Promise<Findings> {
  const all = await Promise.all([
    ...HALVES.filter(({ argument }) => !platform.installedBeside?.includes(argument)).map(async (half) =>
      checkHalf(half, platform, await look.crd(half.crd)),
    ),
    ...(platform.createNamespaces === false ? [checkNamespaces(look, platform)] : []),
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
  const { [argument]: mode, program } = platform;
  const complaint = `${argument} is "${mode}"`;
  if (found === undefined) {
    return { problems: [], unseen: mode === "share" || mode === "adopt" ? [title] : [] };
  }
  if (mode === "install") {
    const problem = found === "absent" ? undefined : alreadyThere(found, `crd ${crd}`, program);
    return {
      problems: problem ? [`${complaint}, but ${title} is already in the cluster (${crd}${problem}`] : [],
      unseen: [],
    };
  }
  if (found === "absent") {
    const remedy = `Set it to "install", or install ${title} first.`;
    const problem = `${complaint}, but ${title} is not in the cluster (no ${crd}). ${remedy}`;
    return { problems: mode === "none" ? [] : [problem], unseen: [] };
  }
  if (makerOf(found) !== program) return { problems: [], unseen: [] };
  return {
    problems: [
      `${complaint}, but this stack has installed the CRDs of ${title}, and would now delete them, with all their objects in ` +
        `the whole cluster. Set it to "install" again. ${KEEPING}. If they may be deleted: ${ifGivenUp(`crd ${crd}`)}`,
    ],
    unseen: [],
  };
}

const KEEPING = 'docs/configuration.md, "What cannot change later", says how to keep them';

/** The rest of a complaint that a CRD is there already. Undefined if the CRD belongs to this program. */
function alreadyThere(
  found: Exclude<Found, "absent" | undefined>,
  object: string,
  program: string,
): string | undefined {
  const choices =
    '"share" to install a controller of our own beside the other one, or to "adopt" to use the existing one.';
  if (found.metadata.labels?.["app.kubernetes.io/managed-by"] !== "argosy") return `). Set it to ${choices}`;
  const maker = makerOf(found);
  if (maker === undefined || maker === program) return undefined;
  return `, from the stack ${maker}). ${ifRenamed(maker, object, program)} If that is another stack, set it to ${choices}`;
}

/** A namespace is deleted with everything that is in it. */
async function checkNamespaces(look: Look, platform: ExpectedPlatform): Promise<Findings> {
  const { namespace, controllerNamespace, program } = platform;
  const names = [namespace, controllerNamespace];
  const found = await Promise.all(names.map((name) => look.namespace(name)));
  const ours = names.filter((_, index) => {
    const each = found[index];
    return each && each !== "absent" && makerOf(each) === program;
  });
  const problems = ours.map(
    (name) =>
      `createNamespaces is false, but this stack has created the namespace ${name}, and would now delete it, with everything in ` +
      `it. Set it to true again. ${KEEPING}. If it may be deleted: ${ifGivenUp(`namespace ${name}`)}`,
  );
  return { problems, unseen: [] };
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
