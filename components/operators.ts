// All of it: platform, event path, operators.
import * as pulumi from "@pulumi/pulumi";
import { announce } from "../definition/announcement";
import { ArgoPlatform, platformKey } from "./argoPlatform";
import type { OperatorsArgs } from "./arguments/arguments";
import { DeployedOperator, type DeployedOperatorArgs } from "./deployedOperator";
import { componentNamed, withReadableErrors } from "./errors";
import { EventPath } from "./eventPath";
import { afterCheck, sayAfter } from "./inCluster/checkInCluster";
import { claim, claimant, crdKey } from "./inCluster/claims";
import { provideCluster } from "./inCluster/cluster";
import { checkOperatorsInCluster } from "./inCluster/operatorsInCluster";
import type { Claim } from "./inCluster/thisRun";
import { checkSdk } from "./kubernetesSdk";
import type { Platform } from "./manifests/platform/options";
import { notesOn } from "./notes";
import { buildOperators, crdsOf, type OperatorsManifests } from "./operatorsManifests";
import { type OperatorsPlan, planOperators } from "./operatorsPlan";
import { OutsideEvents } from "./outsideEvents";
import { after, comesAfter, dependsOnIn, register } from "./register";
import { registerData } from "./registerData";
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
 * export const crdNames = shop.crdNames;
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
  readonly crdNames: readonly string[];

  /**
   * @throws RunError, before any object is registered, that names everything that is wrong with the arguments and with the files of
   *   the operators, or what another component of the program already has
   */
  constructor(name: string, args: OperatorsArgs, opts: pulumi.ComponentResourceOptions = {}) {
    const { plan, sets, cluster, check, options } = prepare(name, args, opts);
    super("argosy:index:Operators", name, {}, options);
    claim(cluster, claimsOf(plan, sets), this);
    sayAfter(check, plan.component, notesOn(plan.operators, plan.platform, plan.guards));
    const { data, platform, toMake, made } = plan;
    const keeping = { data, cluster };
    const child = { parent: this };

    this.platform = platform;
    this.argoPlatform =
      toMake && new ArgoPlatform(`${name}-platform`, toMake, { ...child, ...dependsOnIn(opts) });
    const ground = this.argoPlatform ?? made ?? claimant(cluster, platformKey(platform.namespace));
    const onGround = after(child, [ground]);
    register(`${name}-installation`, sets.installation, child);
    const engine = register(`${name}-engine`, sets.engine, onGround);
    const onEngine = after(onGround, [engine]);
    this.eventPath = sets.eventPath && new EventPath(name, { ...sets.eventPath, data }, onEngine);
    // Created before the operators and deleted after them: a runner that still works writes its memory there.
    const memories = sets.memories && registerData(`${name}-memories`, sets.memories, keeping, child);
    const common = { program: name, keeping, needs: [this.eventPath, engine, memories] };
    this.operators = createOperators(sets.operators, common, onGround);
    const afterOperators = { needs: [engine, ...partsOf(this.operators)], data };
    this.outsideEvents =
      sets.outside && new OutsideEvents(`${name}-outside`, { ...sets.outside, ...afterOperators }, onGround);
    this.crdNames = Object.values(this.operators).flatMap(({ crdName }) => crdName ?? []);
    leaveOutUndefined(this);
    this.registerOutputs({ platform, crdNames: this.crdNames });
  }
}

/** Plans `Operators`, builds their manifests, and checks both, before anything but a provider for their cluster is registered. */
function prepare(name: string, args: OperatorsArgs, opts: pulumi.ComponentResourceOptions) {
  const component = componentNamed("Operators", name);
  checkSdk(component);
  const plan = planOperators(args, component);
  announce({ used: plan.operators });
  const sets = withReadableErrors(() => buildOperators(plan));
  const { cluster, options } = provideCluster(name, args.cluster, opts);
  const check = checkOperatorsInCluster(plan, sets, cluster, comesAfter(opts));
  return { plan, sets, cluster, check, options: afterCheck(check, options) };
}

function createOperators(
  sets: OperatorsManifests["operators"],
  common: Omit<DeployedOperatorArgs, "operator" | "manifests">,
  options: pulumi.CustomResourceOptions,
): Readonly<Record<string, DeployedOperator>> {
  const created = sets.map(({ operator, manifests }) => {
    const args = { ...common, operator, manifests };
    return [operator.name, new DeployedOperator(`${common.program}-${operator.name}`, args, options)];
  });
  return Object.fromEntries(created);
}

/** The operators and their CRDs, which are siblings in Pulumi's tree. */
function partsOf(operators: Readonly<Record<string, DeployedOperator>>): pulumi.Resource[] {
  const all = Object.values(operators);
  return [...all, ...all.flatMap(({ customResourceDefinition }) => customResourceDefinition ?? [])];
}

function claimsOf(
  { component, installation, operators, platform: { namespace } }: OperatorsPlan,
  sets: OperatorsManifests,
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
    ...crdsOf(sets).map(({ crd }) => ({
      key: crdKey(crd.metadata.name),
      what: `the CRD ${crd.metadata.name}`,
      component,
      remedy: "A kind has one operator in a cluster. Give one of the two another kind.",
    })),
  ];
}
