import { z } from "zod";
import { anyText, check, complainIn, fields, flag, integer, mapOf, pattern } from "../definition/checks";
import { INSTALLATION } from "../definition/fields/identity";
import type { Report } from "../definition/problems";
import { DEFAULT_INSTALLATION } from "../runtime/program";
import {
  archive,
  cluster,
  eventBus,
  guards,
  kept,
  LABEL_VALUE,
  mode,
  monitoring,
  namespace,
  off,
  outsideEvents,
  placement,
  quota,
  type Schemas,
  traces,
  workloads,
} from "./argumentParts";
import type { ArgoPlatformArgs, OperatorsArgs } from "./arguments";
import { ConfigurationError, refuse } from "./errors";
import { isInput, rememberInputs } from "./inputs";
import type { EventBusOptions } from "./manifests/eventPath/options";
import type { GuardOptions } from "./manifests/operator/guards";
import type { TracesOptions } from "./manifests/operator/options";
import type { Quota } from "./manifests/operator/quota";
import { JETSTREAM_VERSION } from "./manifests/platform/argoEvents";
import { ownsController, type PlatformOptions } from "./manifests/platform/options";
import { checkWorkloadOptions, type WorkloadOptions } from "./manifests/workloads";

/** The number of runners for which manifests are built if the real number is only known later: several. */
const SEVERAL_RUNNERS = 2;

/** The arguments of an `ArgoPlatform`, with every default. */
export const PLATFORM_ARGUMENTS = fields(
  {
    namespace: namespace.default("argosy"),
    controllerNamespace: namespace.default("argosy-system"),
    createNamespaces: flag("The default is true.").default(true),
    argoEvents: mode.default("install"),
    argoWorkflows: mode.default("install"),
    instanceId: pattern(
      new RegExp(`^$|${LABEL_VALUE.source}`),
      "the value of a label",
      'The default is "argosy". Give "" for none.',
    ).default("argosy"),
    initlessPods: off,
    jetStreamVersion: pattern(/^[\w.-]+$/, "a version", 'Give one, for example "2.10.29".').optional(),
    archive: archive.optional(),
    monitoring: monitoring.optional(),
    parallelism: integer(1, 10_000, "Leave it out for 500.").optional(),
    ...workloads,
    placement: placement.prefault({}),
    protect: off,
    cluster: cluster.optional(),
  } satisfies Schemas<ArgoPlatformArgs>,
  "Give the arguments of a platform.",
).superRefine((args, context) => {
  const report = complainIn(context);
  const { namespace, controllerNamespace, createNamespaces, argoEvents, argoWorkflows } = args;
  if (namespace === controllerNamespace) {
    const remedy =
      "Give Argo's controllers a namespace of their own, so that operators cannot reach their tokens.";
    report(["controllerNamespace"], `is "${controllerNamespace}", the same as namespace`, remedy);
  }
  for (const [key, name] of Object.entries({ namespace, controllerNamespace })) {
    if (!createNamespaces || (name !== "default" && !name.startsWith("kube-"))) continue;
    report(
      [key],
      `is "${name}", which is Kubernetes' own`,
      "Name another, or set createNamespaces to false.",
    );
  }
  // Without an instance id, our controller and the existing one would both handle every Workflow that has no label.
  if (args.instanceId === "" && argoWorkflows === "share") {
    report(["instanceId"], 'is "", and argoWorkflows is "share"', 'Give one, for example "argosy".');
  }
  if (args.initlessPods && argoWorkflows === "none") {
    report(
      ["initlessPods"],
      'is true, and argoWorkflows is "none"',
      "Leave it out: no run has a pod of its own.",
    );
  }
  if (args.jetStreamVersion !== undefined && argoEvents !== "adopt") {
    const complaint = `is "${args.jetStreamVersion}", and argoEvents is "${argoEvents}"`;
    report(
      ["jetStreamVersion"],
      complaint,
      "Leave it out: only an existing controller can have another version.",
    );
  }
  if (args.archive && !ownsController(argoWorkflows)) {
    const remedy =
      argoWorkflows === "adopt"
        ? "Configure the archive in the existing controller instead."
        : 'Leave it out, or set argoWorkflows to "install".';
    report(["archive"], `is given, and argoWorkflows is "${argoWorkflows}"`, remedy);
  }
});

/** The arguments of `Operators`, with every default, except the operators and the platform. */
export const OPERATORS_ARGUMENTS = fields(
  {
    handlers: z.unknown().optional(),
    overrides: z.unknown().optional(),
    platform: z.unknown().optional(),
    installation: INSTALLATION.default(DEFAULT_INSTALLATION),
    eventBus: eventBus.prefault({}),
    guards: guards.optional(),
    outsideEvents: outsideEvents.prefault({}),
    quotas: mapOf(anyText("Name an operator."), quota, "Give quotas by operator.").optional(),
    ...workloads,
    placement: placement.prefault({}),
    replicas: z
      .preprocess(
        (replicas) => (isInput(replicas) ? SEVERAL_RUNNERS : replicas),
        integer(1, 5, "One leads, the others stand by: 1 or 2."),
      )
      .default(1),
    runsKeptSeconds: kept.default(3600),
    failedRunsKeptSeconds: kept.default(86_400),
    traces: traces.optional(),
    protect: off,
    cluster: cluster.optional(),
  } satisfies Schemas<OperatorsArgs>,
  "Give the arguments of Operators.",
);

/** The arguments of a platform with every default filled in. Values that are known later are placeholders. */
export interface CompletePlatformArgs extends PlatformOptions {
  readonly jetStreamVersion: string;
  readonly protect: boolean;
}

/** The arguments of operators with every default filled in. Values that are known later are placeholders. */
export interface CompleteOperatorsArgs extends WorkloadOptions {
  readonly installation: string;
  readonly eventBus: EventBusOptions;
  readonly guards?: GuardOptions;
  readonly outsideEvents: EventBusOptions & { readonly intakes: number };
  readonly quotas?: Readonly<Record<string, Quota>>;
  readonly replicas: number;
  readonly runsKeptSeconds: number;
  readonly failedRunsKeptSeconds: number;
  readonly traces?: TracesOptions;
  readonly protect: boolean;
}

/**
 * Checks the arguments of a platform, and fills in the defaults.
 * @param component the name of the component in errors: `ArgoPlatform "argosy"`
 * @throws ConfigurationError that names every wrong argument
 */
export function completePlatformArgs(args: ArgoPlatformArgs, component: string): CompletePlatformArgs {
  const { jetStreamVersion, cluster: _, ...complete } = checked(PLATFORM_ARGUMENTS, args, component);
  const ownVersion = complete.argoEvents === "none" ? "" : JETSTREAM_VERSION;
  const options = withoutUndefined<CompletePlatformArgs>({
    ...complete,
    jetStreamVersion: jetStreamVersion ?? ownVersion,
  });
  checkWorkloads(options, component);
  return options;
}

/**
 * Checks the arguments of operators, and fills in the defaults. The operators and the platform are checked elsewhere.
 * @param component the name of the component in errors: `Operators "argosy"`
 * @throws ConfigurationError that names every wrong argument
 */
export function completeOperatorsArgs(args: OperatorsArgs, component: string): CompleteOperatorsArgs {
  const {
    handlers: _,
    overrides: __,
    platform: ___,
    cluster: ____,
    ...complete
  } = checked(OPERATORS_ARGUMENTS, args, component);
  return withoutUndefined(complete);
}

/**
 * Checks arguments. The first problem of each argument is reported. An argument that is wrong by itself is not compared with
 * others.
 */
export function checkArguments<Schema extends z.ZodType>(
  schema: Schema,
  args: unknown,
  report: Report,
): z.output<Schema> | undefined {
  const reported = new Set<string>();
  return check(schema, args, (field, ...problem) => {
    if (!reported.has(field)) report(field, ...problem);
    reported.add(field);
  });
}

/**
 * Makes the checks of the choices for everything that Argosy makes which a schema cannot make.
 * @param operators the names of the operators, if they are known
 * @throws ConfigurationError that names every wrong argument
 */
export function checkWorkloads(
  options: WorkloadOptions,
  component: string,
  operators?: readonly string[],
): void {
  refuse(component, checkWorkloadOptions(options, operators));
}

function checked<Schema extends z.ZodObject>(
  schema: Schema,
  args: unknown,
  component: string,
): z.output<Schema> {
  const problems: string[] = [];
  rememberInputs(component, args);
  const complete = checkArguments(schema, args, (field, complaint, remedy) => {
    const isPlatforms = !(field in schema.shape) && field in PLATFORM_ARGUMENTS.shape;
    const hint = isPlatforms ? `Give it as platform: { ${field}: ... }.` : remedy;
    problems.push(`${component}: ${field === "" ? "the argument" : field} ${complaint}. ${hint}`);
  });
  if (problems.length > 0) throw new ConfigurationError(problems);
  return complete as z.output<Schema>;
}

/** Every object in a value without its undefined fields. zod keeps fields that somebody has set to undefined. */
function withoutUndefined<Value>(value: unknown): Value {
  if (typeof value !== "object" || value === null) return value as Value;
  if (Array.isArray(value)) return value.map(withoutUndefined) as Value;
  const given = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(given.map(([key, each]) => [key, withoutUndefined(each)])) as Value;
}
