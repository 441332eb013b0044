import * as pulumi from "@pulumi/pulumi";
import { announce } from "../definition/announcement";
import { ArgoPlatform, platformKey } from "./argoPlatform";
import type { OperatorsArgs } from "./arguments";
import { afterCheck, sayAfter } from "./checkInCluster";
import { type Claim, claim, claimant } from "./claims";
import { clusterOf } from "./cluster";
import { DeployedOperator } from "./deployedOperator";
import { componentNamed, withReadableErrors } from "./errors";
import { EventPath } from "./eventPath";
import { isInput } from "./inputs";
import { checkSdk } from "./kubernetesSdk";
import type { Platform } from "./manifests/platform/options";
import { notesOn } from "./notes";
import { checkOperatorsInCluster } from "./operatorsInCluster";
import { buildOperators, crdsOf, type OperatorsManifests } from "./operatorsManifests";
import { type OperatorsPlan, planOperators } from "./operatorsPlan";
import { OutsideEvents } from "./outsideEvents";
import { after, comesAfter, dependsOnIn, protectedIf, register } from "./register";
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
    const component = componentNamed("Operators", name);
    checkSdk(component);
    const plan = planOperators(args, component);
    const { operators, platform, protect, toMake, made } = plan;
    announce({ used: operators });
    const sets = withReadableErrors(() => buildOperators(plan));
    const { cluster, options: ownOptions } = clusterOf(name, args.cluster, opts);
    const check = checkOperatorsInCluster(plan, sets, cluster, comesAfter(opts));
    super("argosy:index:Operators", name, {}, afterCheck(check, ownOptions));
    claim(cluster, claimsOf(plan, sets), this);
    sayAfter(check, component, notesOn(operators, platform));
    const child = { parent: this };
    this.argoPlatform =
      toMake && new ArgoPlatform(`${name}-platform`, toMake, { ...child, ...dependsOnIn(opts) });
    const ground = this.argoPlatform ?? made ?? claimant(cluster, platformKey(platform.namespace));
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
    this.crdNames = Object.values(this.operators).flatMap(({ crdName }) => crdName ?? []);
    leaveOutUndefined(this);
    this.registerOutputs({ platform, crdNames: this.crdNames });
  }
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
      key: `crd ${crd.metadata.name}`,
      what: `the CRD ${crd.metadata.name}`,
      component,
      remedy: "A kind has one operator in a cluster. Give one of the two another kind.",
    })),
  ];
}
