import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { announce } from "../definition/announcement";
import { checkOperators } from "../definition/checkOperators";
import type { LoadOptions } from "../definition/loadOperator";
import { loadOperators as loadFrom } from "../definition/loadOperators";
import { checkImageVolumes } from "../preflight/checkImageVolumes";
import { checkInstallation } from "../preflight/checkInstallation";
import { together } from "../preflight/lookInCluster";
import type { Operator } from "../runtime/program";
import { ArgoPlatform, platformNamespace } from "./argoPlatform";
import type { OperatorsArgs, PlatformComponent } from "./arguments";
import { afterCheck, checkInCluster, thisProgram } from "./checkInCluster";
import { type Claim, claim, claimant } from "./claims";
import { type Cluster, clusterOf } from "./cluster";
import {
  type CompleteOperatorsArgs,
  checkWorkloads,
  completeOperatorsArgs,
  completePlatformArgs,
} from "./completeArguments";
import { DeployedOperator } from "./deployedOperator";
import { engineFiles } from "./engineBundle";
import { ConfigurationError, componentNamed, withReadableErrors } from "./errors";
import { EventPath } from "./eventPath";
import { isInput } from "./inputs";
import { buildEventPath } from "./manifests/eventPath/eventPath";
import { buildInstallation, installationNameOf } from "./manifests/installation";
import { buildEngineFiles, buildFiles } from "./manifests/operator/configMaps";
import { buildOperator } from "./manifests/operator/operator";
import { quotaProblems } from "./manifests/operator/quota";
import { type OutsideOptions, outsideEventsOf, outsideOptions } from "./manifests/outside/options";
import { buildOutside } from "./manifests/outside/outside";
import { buildMemoryDefinition } from "./manifests/platform/memories";
import type { Platform } from "./manifests/platform/options";
import { workloadOptionsOf } from "./manifests/workloads";
import { notesOn } from "./notes";
import { OutsideEvents } from "./outsideEvents";
import { warnOfSdk } from "./package";
import { isPlatform, platformOf, versionDifference } from "./platform";
import { after, register } from "./register";
import { leaveOutUndefined } from "./undefinedProperties";

/**
 * Operators with all that they need: the platform, the event path that they share, and each operator.
 *
 * @example
 * ```ts
 * import { Operators } from "@argosy-dev/argosy";
 *
 * const shop = new Operators("shop", { handlers: "./handlers" });
 *
 * export const customResources = shop.customResources;
 * export const runner = shop.operators.memcached?.runner?.metadata.name;
 * ```
 *
 * @example Two groups of operators on one platform
 * ```ts
 * import { Operators } from "@argosy-dev/argosy";
 *
 * const shop = new Operators("shop", { handlers: "./shop", installation: "shop" });
 * new Operators("billing", { handlers: "./billing", installation: "billing", platform: shop.platform });
 * ```
 */
export class Operators extends pulumi.ComponentResource {
  /** The platform that they run on. Give it as the output `platform` of a stack, for the stacks of others. */
  readonly platform: Platform;
  /** The platform, if it was made with these operators. */
  readonly argoPlatform: ArgoPlatform | undefined;
  /**
   * The event bus with its sources and sensors. Undefined without Argo Events, and if no operator has custom resources of
   * its own.
   */
  readonly eventPath: EventPath | undefined;
  /** What makes custom resources of events from outside. Undefined if no operator has `on`. */
  readonly outsideEvents: OutsideEvents | undefined;
  /** What was made of each operator, by its name. */
  readonly operators: Readonly<Record<string, DeployedOperator>>;
  /** Names of the operators' CRDs: "memcacheds.cache.example.com". */
  readonly customResources: readonly string[];

  /**
   * @throws RunError, before anything is registered, that names everything that is wrong with the arguments and with the
   *   files of the operators
   */
  constructor(name: string, args: OperatorsArgs, opts: pulumi.ComponentResourceOptions = {}) {
    const component = componentNamed("Operators", name);
    const complete = completeOperatorsArgs(args, component);
    const { operators, installation } = loaded(args, complete, component);
    const names = operators.map((operator) => operator.name);
    // Before the platform's: it is given the same options, and knows no operators.
    checkWorkloads(workloadOptionsOf(complete), component, names);
    const chosen = choosePlatform(args, component);
    const { platform } = chosen;
    const ours = { ...complete, component, operators, installation, platform };
    checkTogether(ours);
    announce({ used: operators });
    const sets = withReadableErrors(() => buildSets(ours));
    const { cluster, options: ownOptions } = clusterOf(name, args.cluster, opts);
    super(
      "argosy:index:Operators",
      name,
      {},
      afterCheck(checked(component, installation, operators, cluster), ownOptions),
    );
    claim(cluster, claimsOf(component, installation, operators, platform), this);
    warnOfSdk();
    for (const { severity, text } of notesOn(operators, platform)) {
      void pulumi.log[severity](`${component}: ${text}`, this);
    }
    const { protect } = complete;
    const child = { parent: this };
    const { toMake } = chosen;
    this.argoPlatform = toMake && new ArgoPlatform(`${name}-platform`, toMake, child);
    const ground =
      this.argoPlatform ?? chosen.made ?? claimant(cluster, platformNamespace(platform.namespace));
    const onGround = after(child, ground ? [ground] : []);

    this.platform = platform;
    register(`${name}-installation`, sets.installation, child);
    // A quarter of a megabyte that nobody can read: its name, a hash, says that it has changed.
    const engine = register(`${name}-engine`, sets.engine, { ...onGround, hideDiffs: ["data"] });
    this.eventPath =
      sets.eventPath && new EventPath(name, { ...sets.eventPath, protect }, after(onGround, [engine]));
    // Before the operators, and deleted after them: a runner that still works writes what it must remember.
    const memories = sets.memories && register(`${name}-memories`, sets.memories, { ...child, protect });
    const needs = [...(this.eventPath ? [this.eventPath] : []), engine, ...(memories ? [memories] : [])];
    const laterReplicas = isInput(args.replicas) ? { laterReplicas: args.replicas } : {};
    const deployed = { program: name, protect, needs, ...laterReplicas };
    this.operators = Object.fromEntries(
      sets.operators.map((each) => [
        each.operator.name,
        new DeployedOperator(`${name}-${each.operator.name}`, { ...deployed, ...each }, onGround),
      ]),
    );
    const needed = [engine, ...Object.values(this.operators)];
    this.outsideEvents =
      sets.outside &&
      new OutsideEvents(`${name}-outside`, { ...sets.outside, needs: needed, protect }, onGround);
    this.customResources = Object.values(this.operators).flatMap(
      ({ customResource }) => customResource ?? [],
    );
    leaveOutUndefined(this);
    this.registerOutputs({ platform, customResources: this.customResources });
  }
}

/** What `Operators` are, all of it known. */
interface Plan extends CompleteOperatorsArgs {
  /** What errors call the component: `Operators "argosy"`. */
  readonly component: string;
  readonly operators: readonly Operator[];
  readonly platform: Platform;
}

/** Everything that operators are made of, each manifest built once: a program's transform may have effects of its own. */
function buildSets(plan: Plan) {
  const { installation, operators, platform, eventBus } = plan;
  const events = outsideEventsOf(operators);
  const options = { ...plan, eventPathName: installation };
  const engine = buildEngineFiles(installation, platform.namespace, { ...engineFiles() });
  const eventPath = { ...workloadOptionsOf(plan), name: installation, platform, eventBus };
  // The changes of objects that are not ours never go over the event bus: their operators watch themselves.
  const announced = operators.filter(({ watch }) => !watch);
  const hasEventPath = platform.argoEvents && announced.length > 0;
  return {
    installation: buildInstallation(installation, thisProgram()),
    engine,
    eventPath: hasEventPath ? buildEventPath(announced, eventPath, engine) : undefined,
    outside: events.length > 0 ? buildOutside(events, outsideOptionsOf(plan), engine) : undefined,
    memories: buildMemoryDefinition(operators),
    operators: operators.map((operator) => ({
      operator,
      manifests: buildOperator(operator, options, buildFiles(operator, options, engine)),
    })),
  };
}

function outsideOptionsOf(plan: Plan): OutsideOptions {
  const { installation, platform } = plan;
  const { intakes, ...eventBus } = plan.outsideEvents;
  return outsideOptions({ ...workloadOptionsOf(plan), installation, platform, eventBus, intakes });
}

/** The platform of operators: one that is made with them, a component of the program, or what another stack tells. */
interface ChosenPlatform {
  readonly platform: Platform;
  /** The arguments of the one to make. */
  readonly toMake?: ConstructorParameters<typeof ArgoPlatform>[1];
  readonly made?: PlatformComponent;
}

function choosePlatform(args: OperatorsArgs, component: string): ChosenPlatform {
  const { platform = {} } = args;
  if (isComponent(platform)) return { platform: platform.platform, made: platform };
  if (isInput(platform)) {
    throw new ConfigurationError([
      `${component}: platform is only known later, and names depend on it. Await it: const platform = await platformOfStack("organization/project/stack").`,
    ]);
  }
  if (isPlatform(platform)) return { platform };
  if ("argosyVersion" in platform) {
    throw new ConfigurationError([
      `${component}: platform has an argosyVersion, but not all fields of a platform. ${versionDifference(String(platform.argosyVersion)) ?? "Give the output `platform` of a stack unchanged."}`,
    ]);
  }
  const { cluster, ...further } = platform;
  if (cluster) {
    throw new ConfigurationError([
      `${component}: platform.cluster is given, and the platform is in the cluster of its operators. Give the argument cluster in its place.`,
    ]);
  }
  const { placement, images, resources, pods, transform } = args;
  const toMake = {
    ...(placement && { placement }),
    ...(images && { images }),
    ...(resources && { resources }),
    ...(pods && { pods }),
    ...(transform && { transform }),
    ...(args.protect !== undefined && { protect: args.protect }),
    ...(args.cluster && { cluster: args.cluster }),
    ...further,
  };
  return { platform: platformOf(completePlatformArgs(toMake, `${component}: platform`)), toMake };
}

/** Not by `instanceof`: a program may have a second copy of this package. */
function isComponent(value: object): value is PlatformComponent {
  return pulumi.ComponentResource.isInstance(value) && "platform" in value && isPlatform(value.platform);
}

/**
 * Loads the operators of a folder, as `Operators` does: for a program that needs to know them before.
 * @param folder relative to the program's folder
 * @throws RunError that names every problem: file, line, field, remedy
 *
 * @example
 * ```ts
 * import { loadOperators, Operators } from "@argosy-dev/argosy";
 *
 * const handlers = loadOperators("./handlers", { overrides: { memcached: { namespaces: ["shop"] } } });
 * new Operators("shop", { handlers: handlers.filter(({ name }) => name !== "experiment") });
 * ```
 */
export function loadOperators(folder: string, options: LoadOptions = {}): Operator[] {
  const absolute = path.resolve(folder);
  const operators = withReadableErrors(() => loadFrom(absolute, options));
  announce({ loaded: operators, folder: absolute, options });
  return operators;
}

/** The operators, and what tells them from all others in the cluster. */
function loaded(
  { handlers, installation: wanted, overrides }: OperatorsArgs,
  { installation }: CompleteOperatorsArgs,
  component: string,
): { readonly operators: readonly Operator[]; readonly installation: string } {
  if (typeof handlers === "string") {
    const operators = loadOperators(handlers, { installation, overrides });
    return { operators, installation };
  }
  if (!Array.isArray(handlers) || handlers.length === 0) {
    throw new ConfigurationError([
      `${component}: handlers is ${handlers === undefined ? "missing" : "no folder, and no list of operators"}. Give the folder of the operators, for example "./handlers".`,
    ]);
  }
  if (overrides !== undefined) {
    throw new ConfigurationError([
      `${component}: overrides is given, and the operators are loaded already. Give it to loadOperators.`,
    ]);
  }
  const operators = handlers as readonly Operator[];
  const common = wanted ?? operators[0]?.installation ?? installation;
  const other = operators.find((each) => each.installation !== common);
  if (other) {
    throw new ConfigurationError([
      `${component}: the operator ${other.name} was loaded for the installation "${other.installation}", not for "${common}". Give the same installation to loadOperators.`,
    ]);
  }
  return { operators, installation: common };
}

/** What can only be checked when arguments, operators and platform are all known. */
function checkTogether(plan: Plan): void {
  const { operators, platform, component } = plan;
  checkForms(operators, platform, component);
  checkOutsideEvents(plan);
  checkQuotas(plan);
  withReadableErrors(() => checkOperators(operators));
}

function checkQuotas(plan: Plan): void {
  const problems = quotaProblems(plan.operators, plan);
  if (problems.length === 0) return;
  throw new ConfigurationError(
    problems.map(({ key, complaint, remedy }) => `${plan.component}: ${key} ${complaint}. ${remedy}`),
  );
}

/** A pod of its own for each run takes a Workflow. */
function checkForms(operators: readonly Operator[], { argoWorkflows }: Platform, component: string): void {
  const inPods = argoWorkflows ? [] : operators.filter(({ execution }) => execution === "pod");
  if (inPods.length === 0) return;
  throw new ConfigurationError(
    inPods.map(
      ({ name }) =>
        `${component}: the operator ${name} has execution "pod", which needs Argo Workflows, and the platform has none. Set its execution to "resident", or argoWorkflows of the platform to "install".`,
    ),
  );
}

/** Whether the cluster has no other program's installation of this name, and what the operators need of it. */
function checked(
  component: string,
  installation: string,
  operators: readonly Operator[],
  cluster: Cluster,
): Promise<void> {
  const clusterRole = installationNameOf(installation);
  const withImage = operators.filter(({ files }) => files !== undefined).map(({ name }) => name);
  return checkInCluster(component, cluster, async (look) =>
    together(
      await Promise.all([
        checkInstallation(look, { installation, clusterRole, program: thisProgram() }),
        checkImageVolumes(look, withImage),
      ]),
    ),
  );
}

/** Events from outside take Argo Events, and a bus that loses none. */
function checkOutsideEvents({ operators, platform, outsideEvents, component }: Plan): void {
  const names = operators.filter(({ on = [] }) => on.length > 0).map(({ name }) => name);
  if (names.length === 0) return;
  const who = `${names.length === 1 ? "the operator" : "the operators"} ${names.join(", ")} ${names.length === 1 ? "has" : "have"} on`;
  if (!platform.argoEvents) {
    throw new ConfigurationError([
      `${component}: ${who}, which needs Argo Events, and the platform has none. Set argoEvents of the platform to "install".`,
    ]);
  }
  if (outsideEvents.storage === undefined) {
    throw new ConfigurationError([
      `${component}: ${who}, and outsideEvents.storage is not given. An event that was accepted is nowhere but in its bus: give the size of a volume, for example outsideEvents: { storage: "1Gi" }.`,
    ]);
  }
}

function claimsOf(
  component: string,
  installation: string,
  operators: readonly Operator[],
  { namespace }: Platform,
): Claim[] {
  return [
    {
      what: `the installation "${installation}"`,
      component,
      remedy: `Give each an installation of its own, for example installation: "${installation.slice(0, 18)}-2".`,
    },
    ...operators.map(({ name }) => ({
      what: `an operator "${name}" in the namespace "${namespace}"`,
      component,
      remedy: "Give one of the two another name.",
    })),
  ];
}
