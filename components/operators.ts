import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { announce } from "../definition/announcement";
import { checkOperators } from "../definition/checkOperators";
import type { LoadOptions } from "../definition/loadOperator";
import { loadOperators as loadFrom } from "../definition/loadOperators";
import { checkCustomResources, type ExpectedCustomResource } from "../preflight/checkCustomResources";
import { checkImageVolumes, type ImageVolumesNeed } from "../preflight/checkImageVolumes";
import { checkInstallation } from "../preflight/checkInstallation";
import { checkOperatorNames } from "../preflight/checkOperatorNames";
import { together } from "../preflight/lookInCluster";
import type { Operator } from "../runtime/program";
import { ArgoPlatform, platformKey } from "./argoPlatform";
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
import { buildInstallation, installationNameOf, madeBy } from "./manifests/installation";
import { isTakenBack } from "./manifests/metadata";
import { runnerNameOf } from "./manifests/names";
import { buildEngineFiles, buildFiles } from "./manifests/operator/configMaps";
import { buildOperator, type OperatorManifests } from "./manifests/operator/operator";
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
import { after, protectedIf, register } from "./register";
import { leaveOutUndefined } from "./undefinedProperties";

/**
 * Operators with everything that they need: the platform, the event path that they share, and each operator.
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
  /** The platform that the operators run on. Export it as the output `platform` of the stack if other stacks use the platform. */
  readonly platform: Platform;
  /** The platform, if it was created together with these operators. */
  readonly argoPlatform: ArgoPlatform | undefined;
  /**
   * The event bus with its sources and sensors. Undefined if there is no Argo Events, or if no operator has custom resources of
   * its own.
   */
  readonly eventPath: EventPath | undefined;
  /** The event path and the intake that create custom resources from events from outside. Undefined if no operator has `on`. */
  readonly outsideEvents: OutsideEvents | undefined;
  /** The deployed operators, by their names. */
  readonly operators: Readonly<Record<string, DeployedOperator>>;
  /** The names of the operators' CRDs, such as "memcacheds.cache.example.com". */
  readonly customResources: readonly string[];

  /**
   * @throws RunError, before any object is registered, that names everything that is wrong with the arguments and with the files of
   *   the operators, or what another component of the program already has
   */
  constructor(name: string, args: OperatorsArgs, opts: pulumi.ComponentResourceOptions = {}) {
    const component = componentNamed("Operators", name);
    const complete = completeOperatorsArgs(args, component);
    const { operators, installation } = loaded(args, complete, component);
    const names = operators.map((operator) => operator.name);
    // Before the check of the platform, which is given the same options and knows no operators.
    checkWorkloads(workloadOptionsOf(complete), component, names);
    const chosen = choosePlatform(args, component);
    const { platform } = chosen;
    const ours = { ...complete, component, operators, installation, platform };
    checkTogether(ours);
    announce({ used: operators });
    const sets = withReadableErrors(() => buildSets(ours));
    const { cluster, options: ownOptions } = clusterOf(name, args.cluster, opts);
    super("argosy:index:Operators", name, {}, afterCheck(checked(ours, sets, cluster), ownOptions));
    claim(cluster, claimsOf(component, installation, operators, platform), this);
    warnOfSdk();
    for (const { severity, text } of notesOn(operators, platform)) {
      void pulumi.log[severity](`${component}: ${text}`, this);
    }
    const { protect } = complete;
    const child = { parent: this };
    const { toMake } = chosen;
    this.argoPlatform = toMake && new ArgoPlatform(`${name}-platform`, toMake, child);
    const ground = this.argoPlatform ?? chosen.made ?? claimant(cluster, platformKey(platform.namespace));
    const onGround = after(child, ground ? [ground] : []);

    this.platform = platform;
    register(`${name}-installation`, sets.installation, child);
    // The data is a quarter of a megabyte that nobody can read. The name is a hash, so it shows a change.
    const engine = register(`${name}-engine`, sets.engine, { ...onGround, hideDiffs: ["data"] });
    this.eventPath =
      sets.eventPath && new EventPath(name, { ...sets.eventPath, protect }, after(onGround, [engine]));
    // Created before the operators and deleted after them: a runner that still works writes its memory there.
    const memories =
      sets.memories && register(`${name}-memories`, sets.memories, { ...child, ...protectedIf(protect) });
    const needs = [...(this.eventPath ? [this.eventPath] : []), engine, ...(memories ? [memories] : [])];
    const laterReplicas = isInput(args.replicas) ? { laterReplicas: args.replicas } : {};
    const deployed = { program: name, protect, needs, ...laterReplicas };
    this.operators = Object.fromEntries(
      sets.operators.map((each) => [
        each.operator.name,
        new DeployedOperator(`${name}-${each.operator.name}`, { ...deployed, ...each }, onGround),
      ]),
    );
    const crds = Object.values(this.operators).flatMap((each) => each.customResourceDefinition ?? []);
    const needed = [engine, ...Object.values(this.operators), ...crds];
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

/** Everything about `Operators`, with all values known. */
interface Plan extends CompleteOperatorsArgs {
  /** What errors call the component: `Operators "argosy"`. */
  readonly component: string;
  readonly operators: readonly Operator[];
  readonly platform: Platform;
}

type Sets = ReturnType<typeof buildSets>;

/** All manifests of the operators. Each manifest is built once, because a program's transform may have effects of its own. */
function buildSets(plan: Plan) {
  const { installation, operators, platform, eventBus } = plan;
  const events = outsideEventsOf(operators);
  const options = { ...plan, eventPathName: installation };
  const engine = buildEngineFiles(installation, platform.namespace, { ...engineFiles() });
  const eventPath = { ...workloadOptionsOf(plan), name: installation, platform, eventBus };
  // Changes of objects that are not ours never use the event bus: the operators watch these objects themselves.
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
      manifests: marked(buildOperator(operator, options, buildFiles(operator, options, engine))),
    })),
  };
}

/** A cluster has only one CRD of a name: it says which program made it. */
function marked({ crd, ...others }: OperatorManifests): OperatorManifests {
  return { ...others, crd: crd && madeBy(thisProgram(), crd) };
}

function outsideOptionsOf(plan: Plan): OutsideOptions {
  const { installation, platform } = plan;
  const { intakes, ...eventBus } = plan.outsideEvents;
  return outsideOptions({ ...workloadOptionsOf(plan), installation, platform, eventBus, intakes });
}

/** The platform of operators: one that is created with them, a component of the program, or the output of another stack. */
interface ChosenPlatform {
  readonly platform: Platform;
  /** The arguments, if the platform is still to be created. */
  readonly toMake?: ConstructorParameters<typeof ArgoPlatform>[1];
  readonly made?: PlatformComponent;
}

function choosePlatform(args: OperatorsArgs, component: string): ChosenPlatform {
  const { platform = {} } = args;
  if (isComponent(platform)) return { platform: platform.platform, made: platform };
  if (isInput(platform)) {
    throw new ConfigurationError([
      `${component}: platform is not known yet, and names depend on it. Await the platform: const platform = await platformOfStack("organization/project/stack").`,
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
      `${component}: platform.cluster is given, and the platform is always in the cluster of its operators. Give the argument cluster of Operators instead.`,
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

/** Does not use `instanceof`, because a program may have a second copy of this package. */
function isComponent(value: object): value is PlatformComponent {
  return pulumi.ComponentResource.isInstance(value) && "platform" in value && isPlatform(value.platform);
}

/**
 * Loads the operators of a folder, as `Operators` does. For a program that needs to know the operators before it creates that
 * component.
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

/** The operators, and the installation that distinguishes them from all others in the cluster. */
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
      `${component}: overrides is given, and the operators are already loaded. Give overrides to loadOperators instead.`,
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

/** The checks that need the arguments, the operators and the platform together. */
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

/** An operator whose runs have pods of their own needs Argo Workflows. */
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

/**
 * Checks that no other program has an installation of this name in the cluster, an operator of one of these names on the platform, or
 * one of these CRDs, and that the cluster has everything that the operators need.
 */
function checked(plan: Plan, sets: Sets, cluster: Cluster): Promise<void> {
  const { component, installation, operators, platform } = plan;
  const { namespace } = platform;
  const accounts = { namespace, accountOf: runnerNameOf };
  return checkInCluster(component, cluster, async (look, { program }) =>
    together(
      await Promise.all([
        checkInstallation(look, { installation, clusterRole: installationNameOf(installation), program }),
        checkOperatorNames(look, { operators, program, ...accounts, clusterRoleOf: installationNameOf }),
        checkCustomResources(look, { customResources: customResourcesOf(sets), program, ...accounts }),
        checkImageVolumes(look, imageVolumesNeed(operators)),
      ]),
    ),
  );
}

function customResourcesOf({ operators }: Sets): ExpectedCustomResource[] {
  return operators.flatMap(({ operator, manifests: { crd } }) =>
    crd ? [{ operator, crd: crd.metadata.name, takesExisting: isTakenBack(crd) }] : [],
  );
}

/** Files that come from images are mounted as image volumes. */
function imageVolumesNeed(operators: readonly Operator[]): ImageVolumesNeed | undefined {
  const names = operators.filter(({ files }) => files !== undefined).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return {
    reason: `files of ${names.join(", ")} names an image`,
    remedy: "Leave files out, or build an image of the handler with its files: image",
  };
}

/** Events from outside need Argo Events, and a bus that loses no event. */
function checkOutsideEvents({ operators, platform, outsideEvents, component }: Plan): void {
  const names = operators.filter(({ on = [] }) => on.length > 0).map(({ name }) => name);
  if (names.length === 0) return;
  const who = `${names.length === 1 ? "the operator" : "the operators"} ${names.join(", ")} ${names.length === 1 ? "declares" : "declare"} "on" (events from outside)`;
  if (!platform.argoEvents) {
    throw new ConfigurationError([
      `${component}: ${who}, which needs Argo Events, and the platform has none. Set argoEvents of the platform to "install".`,
    ]);
  }
  if (outsideEvents.storage === undefined) {
    throw new ConfigurationError([
      `${component}: ${who}, and outsideEvents.storage is not given. Once an event is accepted, only the bus stores it. Give the size of a volume, for example outsideEvents: { storage: "1Gi" }.`,
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
      key: `installation ${installation}`,
      what: `the installation "${installation}"`,
      component,
      remedy: `Give each an installation of its own, for example installation: "${installation.slice(0, 18)}-2".`,
    },
    ...operators.map(({ name }) => ({
      key: `operator ${namespace}/${name}`,
      what: `an operator "${name}" in the namespace "${namespace}"`,
      component,
      remedy: "Give one of the two another name.",
    })),
  ];
}
