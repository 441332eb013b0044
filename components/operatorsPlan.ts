// What that is going to be, checked before anything is registered.
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { announce } from "../definition/announcement";
import { checkOperators } from "../definition/checkOperators";
import type { LoadOptions } from "../definition/loadOperator";
import { loadOperators as loadFrom } from "../definition/loadOperators";
import type { Operator } from "../runtime/program";
import type { ArgoPlatformArgs, OperatorsArgs } from "./arguments/arguments";
import {
  type CompleteOperatorsArgs,
  checkWorkloads,
  completeOperatorsArgs,
  completePlatformArgs,
  PLATFORM_ARGUMENTS,
} from "./arguments/completeArguments";
import { asImage, isInput, rememberInputs } from "./arguments/inputs";
import { ConfigurationError, refuse, withReadableErrors } from "./errors";
import { quotaProblems } from "./manifests/operator/quota";
import type { Platform } from "./manifests/platform/options";
import { isPlatform, type PlatformComponent, platformOf, versionDifference } from "./platform";

/** What `Operators` are going to be: their arguments, definitions and platform, all of them checked. */

/** Everything about `Operators`, with all values known. */
export interface OperatorsPlan extends CompleteOperatorsArgs {
  /** What errors call the component: `Operators "argosy"`. */
  readonly component: string;
  readonly operators: readonly Operator[];
  readonly platform: Platform;
  /** The arguments of the platform, if it is still to be created. */
  readonly toMake?: ArgoPlatformArgs;
  /** The component of the program whose platform it is. */
  readonly made?: PlatformComponent;
}

/**
 * Plans `Operators` of these arguments.
 * @param component what errors call the component
 * @throws RunError that names everything that is wrong with the arguments and with the files of the operators
 */
export function planOperators(args: OperatorsArgs, component: string): OperatorsPlan {
  const complete = completeOperatorsArgs(args, component);
  const { operators, installation } = loaded(args, complete, component);
  const names = operators.map((operator) => operator.name);
  // Before the check of the platform, which is given the same options and knows no operators.
  checkWorkloads(complete, component, names);
  const plan = { ...complete, component, operators, installation, ...choosePlatform(args, component) };
  checkTogether(plan);
  return plan;
}

/** The platform of operators: one that is created with them, a component of the program, or the output of another stack. */
type ChosenPlatform = Pick<OperatorsPlan, "platform" | "toMake" | "made">;

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
  if (platform.cluster) {
    throw new ConfigurationError([
      `${component}: platform.cluster is given, and the platform is always in the cluster of its operators. Give the argument cluster of Operators instead.`,
    ]);
  }
  const toMake = platformArguments(args, platform);
  return { platform: platformOf(completePlatformArgs(toMake, `${component}: platform`)), toMake };
}

/** The arguments of a platform for operators: its own, and those of the operators that a platform has too. */
export function platformArguments(
  operators: Pick<OperatorsArgs, keyof OperatorsArgs & keyof ArgoPlatformArgs>,
  own: ArgoPlatformArgs = {},
): ArgoPlatformArgs {
  const both = Object.entries(operators).filter(
    ([key, value]) => key in PLATFORM_ARGUMENTS.shape && value !== undefined,
  );
  return {
    ...Object.fromEntries(both),
    ...own,
    // Field by field: a platform with a node selector of its own still has the operators' registry.
    placement: { ...operators.placement, ...own.placement },
  };
}

/** Does not use `instanceof`, because a program may have a second copy of this package. */
function isComponent(value: object): value is PlatformComponent {
  return pulumi.ComponentResource.isInstance(value) && "platform" in value && isPlatform(value.platform);
}

/** How operators are loaded: for which installation, and with which values instead of the definitions' own. */
export interface LoadOperatorsOptions extends Omit<LoadOptions, "overrides"> {
  /** Values that this stack uses instead of those in the definitions, by the names of the operators. @default nothing */
  readonly overrides?: OperatorsArgs["overrides"] | undefined;
}

/** Overrides in which a placeholder stands for each image that is known later. */
function withPlaceholders(overrides: OperatorsArgs["overrides"]): LoadOptions["overrides"] {
  if (typeof overrides !== "object" || overrides === null) return overrides;
  const placeholders = Object.entries(overrides).map(([name, override]) => {
    if (typeof override !== "object" || override === null) return [name, override];
    const { image, files } = override;
    return [
      name,
      {
        ...override,
        ...(isInput(image) && { image: asImage(image) }),
        ...(isInput(files?.image) && { files: { ...files, image: asImage(files.image) } }),
      },
    ];
  });
  return Object.fromEntries(placeholders);
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
export function loadOperators(
  folder: string,
  { overrides, ...others }: LoadOperatorsOptions = {},
): Operator[] {
  rememberInputs("loadOperators", { overrides });
  const options = { ...others, overrides: withPlaceholders(overrides) };
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
      `${component}: handlers is ${handlers === undefined ? "missing" : "neither a folder nor a list of operators"}. Give the folder of the operators, for example "./handlers".`,
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
function checkTogether(plan: OperatorsPlan): void {
  const { operators, platform, component } = plan;
  checkForms(operators, platform, component);
  checkEgress(plan);
  checkOutsideEvents(plan);
  refuse(component, quotaProblems(operators, plan));
  withReadableErrors(() => checkOperators(operators));
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

/** A runner that does not reach the API server does nothing, and it shares the pod of a limited handler. */
function checkEgress({ operators, apiServer, component }: OperatorsPlan): void {
  const limited = operators.filter(({ egress }) => egress);
  if (limited.length === 0 || apiServer.length > 0) return;
  throw new ConfigurationError(
    limited.map(
      ({ name }) =>
        `${component}: the operator ${name} has "egress", and apiServer is not given, so its runner could not reach the API server. ` +
        "kubectl -n default get endpointslices -l kubernetes.io/service-name=kubernetes shows its addresses and ports. Give them, for " +
        "example apiServer: [{ cidr: 172.20.0.10/32, ports: [6443] }].",
    ),
  );
}

/** Events from outside need Argo Events, and a bus that loses no event. */
function checkOutsideEvents({ operators, platform, outsideEvents, component }: OperatorsPlan): void {
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
      `${component}: ${who}, and outsideEvents.storage is not given. Once an event is accepted, only the bus stores it. Give the size of a volume: pulumi config set outsideEventsStorage 1Gi. A program without configuredOperators gives the argument outsideEvents: { storage: "1Gi" }.`,
    ]);
  }
}
