import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { checkOperators } from "../definition/checkOperators";
import type { LoadOptions } from "../definition/loadOperator";
import { loadOperators as loadFrom } from "../definition/loadOperators";
import { checkInstallation } from "../preflight/checkInstallation";
import type { Operator } from "../runtime/program";
import { ArgoPlatform, platformNamespace } from "./argoPlatform";
import {
  type CompleteOperatorsArgs,
  checkWorkloads,
  completeOperatorsArgs,
  completePlatformArgs,
  type OperatorsArgs,
  type PlatformComponent,
} from "./arguments";
import { afterCheck, checkInCluster, thisProgram } from "./checkInCluster";
import { type Claim, claim, claimant } from "./claims";
import { clusterOf } from "./cluster";
import { DeployedOperator } from "./deployedOperator";
import { engineFiles } from "./engineBundle";
import { ConfigurationError, withReadableErrors } from "./errors";
import { EventPath } from "./eventPath";
import { isInput } from "./inputs";
import { buildEventBus } from "./manifests/eventPath/eventBus";
import { planEventPath } from "./manifests/eventPath/eventSource";
import { buildKeeper } from "./manifests/eventPath/keeper";
import { buildInstallation, installationNameOf } from "./manifests/installation";
import { buildEngineFiles, buildFiles } from "./manifests/operator/configMaps";
import { buildCrd, buildOperator } from "./manifests/operator/operator";
import { buildRunner } from "./manifests/operator/runner";
import type { Platform } from "./manifests/platform/options";
import { workloadOptionsOf } from "./manifests/workloads";
import { warnOfSdk } from "./package";
import { isPlatform, platformOf, versionDifference } from "./platform";
import { after, register } from "./register";

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
  /** The event bus with its sources and sensors. Undefined without Argo Events. */
  readonly eventPath: EventPath | undefined;
  /** What was made of each operator, by its name. */
  readonly operators: Readonly<Record<string, DeployedOperator>>;
  /** Names of the operators' CRDs: "memcacheds.cache.example.com". */
  readonly customResources: readonly string[];

  /**
   * @throws RunError, before anything is registered, that names everything that is wrong with the arguments and with the
   *   files of the operators
   */
  constructor(name: string, args: OperatorsArgs, opts: pulumi.ComponentResourceOptions = {}) {
    const component = `Operators "${name}"`;
    const complete = completeOperatorsArgs(args, component);
    const { eventBus, protect } = complete;
    const workloads = workloadOptionsOf(complete);
    const { operators, installation } = loaded(args, complete, component);
    const names = operators.map((operator) => operator.name);
    checkWorkloads(workloads, component, names);
    const chosen = choosePlatform(args, component);
    const { platform } = chosen;
    const options = { ...complete, platform, eventPathName: installation };
    const eventPath = { ...workloads, name: installation, platform, eventBus };
    checkForms(operators, platform, component);
    const { engine, plans } = withReadableErrors(() => {
      checkOperators(operators);
      if (platform.argoEvents) planEventPath(operators, eventPath);
      const engine = buildEngineFiles(installation, platform.namespace, { ...engineFiles() });
      const plans = operators.map((operator) => ({ operator, files: buildFiles(operator, options, engine) }));
      // What a transform does wrong is told before anything is registered.
      for (const { operator, files } of plans) {
        buildOperator(operator, options, files);
        buildCrd(operator, options);
        if (operator.execution === "resident") buildRunner(operator, options, files);
      }
      if (platform.argoEvents) {
        buildEventBus(eventPath);
        buildKeeper(eventPath, engine);
      }
      return { engine, plans };
    });

    const { cluster, options: ownOptions } = clusterOf(name, args.cluster, opts);
    const program = thisProgram();
    const check = checkInCluster(component, cluster, (look) =>
      checkInstallation(look, { installation, clusterRole: installationNameOf(installation), program }),
    );
    super("argosy:index:Operators", name, {}, afterCheck(check, ownOptions));
    claim(cluster, claimsOf(component, installation, operators, platform), this);
    warnOfSdk();
    tell(component, operators, platform, this);
    const child = { parent: this };
    const { toMake } = chosen;
    this.argoPlatform = toMake && new ArgoPlatform(`${name}-platform`, toMake, child);
    const ground =
      this.argoPlatform ?? chosen.made ?? claimant(cluster, platformNamespace(platform.namespace));
    const onGround = after(child, ground ? [ground] : []);

    this.platform = platform;
    register(`${name}-installation`, buildInstallation(installation, program), child);
    // A quarter of a megabyte that nobody can read: its name, a hash, tells that it has changed.
    const shared = register(`${name}-engine`, engine, { ...onGround, hideDiffs: ["data"] });
    this.eventPath = platform.argoEvents
      ? new EventPath(name, { ...eventPath, operators, engine, protect }, after(onGround, [shared]))
      : undefined;
    const needs = this.eventPath ? [this.eventPath, shared] : [shared];
    const laterReplicas = isInput(args.replicas) ? { laterReplicas: args.replicas } : {};
    this.operators = Object.fromEntries(
      plans.map((plan) => {
        const deployed = { ...options, ...plan, ...laterReplicas, needs, program: name };
        return [
          plan.operator.name,
          new DeployedOperator(`${name}-${plan.operator.name}`, deployed, onGround),
        ];
      }),
    );
    this.customResources = Object.values(this.operators).map(({ customResource }) => customResource);
    this.registerOutputs({ platform, customResources: this.customResources });
  }
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
  return withReadableErrors(() => loadFrom(path.resolve(folder), options));
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

/** What a user should know of, and what is no error. */
function tell(
  component: string,
  operators: readonly Operator[],
  platform: Platform,
  resource: pulumi.Resource,
): void {
  const difference = versionDifference(platform.argosyVersion);
  if (difference !== undefined) void pulumi.log.warn(`${component}: ${difference}`, resource);
  const everywhere = operators.filter(({ namespaces }) => namespaces === "all");
  for (const { name, children } of everywhere) {
    const kinds = children.filter(({ retired }) => !retired).map(({ kind }) => kind);
    void pulumi.log.info(
      `${component}: the operator ${name} gets rights in the whole cluster: to create, change and delete ${kinds.join(", ") || "no kind"} in every namespace. Narrow them with its field namespaces.`,
      resource,
    );
  }
  const unhinted = platform.argoEvents ? [] : operators.filter(({ execution }) => execution === "pod");
  for (const { name, resyncSeconds } of unhinted) {
    void pulumi.log.warn(
      `${component}: the operator ${name} has execution "pod", and the platform has no Argo Events: a change is seen at the next resync, up to ${resyncSeconds} seconds later.`,
      resource,
    );
  }
}
