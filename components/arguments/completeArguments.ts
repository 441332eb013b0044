// Defaults, and the checks of several arguments together.
import { z } from "zod";
import {
  anyText,
  check,
  complainIn,
  fields,
  flag,
  integer,
  listOf,
  mapOf,
  pattern,
} from "../../definition/checks";
import { INSTALLATION } from "../../definition/fields/identity";
import { OVERRIDABLE } from "../../definition/fields/overridable";
import type { Report } from "../../definition/problems";
import { OVERRIDES } from "../../definition/schema";
import { DEFAULT_INSTALLATION } from "../../runtime/program";
import { ConfigurationError, refuse } from "../errors";
import { about } from "../manifests/about";
import type { DataMode } from "../manifests/data";
import type { EventBusOptions } from "../manifests/eventPath/options";
import { DESTINATION_ARGUMENT, OPERATOR_OPTIONS, type OperatorOptions } from "../manifests/operator/options";
import { JETSTREAM_VERSION } from "../manifests/platform/argoEvents";
import { ownsController, type PlatformOptions } from "../manifests/platform/options";
import { checkWorkloadOptions, type WorkloadOptions } from "../manifests/workloads";
import { argumentOf } from "./argumentModel";
import {
  archive,
  cluster,
  data,
  eventBus,
  guards,
  LABEL_VALUE,
  mode,
  monitoring,
  namespace,
  outsideEvents,
  placement,
  quota,
  replicas,
  traces,
  workloads,
} from "./argumentParts";
import type { ArgoPlatformArgs, OperatorsArgs } from "./arguments";
import { isInput, laterImage, placeholderFor, rememberInputs } from "./inputs";

/** The arguments that a platform and its operators both have. */
const common = {
  ...workloads,
  placement,
  data,
  cluster: cluster
    .optional()
    .describe(
      "The cluster. With an explicit provider, the provider creates the objects, and this argument only says which cluster is checked " +
        "before.",
    )
    .meta(about({ otherwise: "that of the provider: `kubernetes:kubeconfig` and `kubernetes:context`" })),
};

/** The arguments of an `ArgoPlatform`, with every default. */
export const PLATFORM_ARGUMENTS = fields(
  {
    namespace: namespace
      .default("argosy")
      .describe("The operators' namespace, which contains the operators, their events and their runs.")
      .meta(about({ key: "namespace" })),
    controllerNamespace: namespace
      .default("argosy-system")
      .describe("The namespace of Argo's controllers.")
      .meta(about({ key: "controllerNamespace" })),
    createNamespaces: flag("The default is true.")
      .default(true)
      .describe("Whether to create these two namespaces. If false, they must exist already.")
      .meta(about({ key: "createNamespaces" })),
    argoEvents: mode
      .default("install")
      .describe(
        'Who installs Argo Events: "install" (Argosy installs the CRDs and the controller), "share" (the CRDs exist already, Argosy ' +
          'installs the controller), "adopt" (both exist already), "none" (operators do without Argo Events).',
      )
      .meta(about({ key: "argoEvents" })),
    argoWorkflows: mode
      .default("install")
      .describe(
        'The same for Argo Workflows. With "adopt", set instanceId and initlessPods to those of the existing controller.',
      )
      .meta(about({ key: "argoWorkflows" })),
    instanceId: pattern(
      new RegExp(`^$|${LABEL_VALUE.source}`),
      "the value of a label",
      'The default is "argosy". Give "" for none.',
    )
      .default("argosy")
      .describe(
        "The instance id of the Workflow controller. The controller handles only Workflows that have this id as a label. " +
          '"" for none.',
      )
      .meta(about({ key: "instanceId" })),
    initlessPods: flag("The default is false.")
      .default(false)
      .describe(
        "Whether Argo makes the pods of runs without an init container of its own (Argo's `initlessPod`, which is beta), so that they " +
          "begin about a second sooner. The cluster needs image volumes, which Kubernetes has by default from 1.35 on. With " +
          'argoWorkflows "adopt", this must be the setting of the existing controller.',
      )
      .meta(about({ key: "initlessPods" })),
    jetStreamVersion: pattern(/^[\w.-]+$/, "a version", 'Give one, for example "2.10.29".')
      .optional()
      .describe(
        'With argoEvents "adopt": the version of the event bus, a JetStream version that the existing controller is configured for.',
      )
      .meta(about({ key: "jetStreamVersion", otherwise: "that of Argosy's own controller" })),
    archive,
    monitoring,
    parallelism: integer(1, 10_000, "Leave it out for 500.")
      .optional()
      .describe(
        "How many Workflows run at the same time under the Workflow controller that Argosy installs. The others wait.",
      )
      .meta(about({ otherwise: "500" })),
    ...common,
  },
  "Give the arguments of a platform.",
)
  .describe("The arguments of an `ArgoPlatform`. Every argument may be left out.")
  .meta(about({ type: "ArgoPlatform" }))
  .superRefine((args, context) => {
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
    installation: INSTALLATION.default(DEFAULT_INSTALLATION)
      .describe(
        "The name that distinguishes these operators from those of other programs in the same cluster. It is part of finalizers, " +
          "labels, field managers and leases, and is the name of the event bus, the event source and the sensor. It is not part of the " +
          "names of Deployments and accounts: two installations on one platform cannot have operators of the same name. At most 20 " +
          "characters. A change of this name renames every operator: see formerNames.",
      )
      .meta(about({ key: "installation" })),
    eventBus,
    guards,
    outsideEvents,
    quotas: mapOf(anyText("Name an operator."), quota, "Give quotas by operator.")
      .optional()
      .describe(
        'The limits for all pods of an operator\'s runs together, by the names of operators with execution "pod". Runs that do not fit ' +
          "into the limits wait.",
      )
      .meta(about({ otherwise: "no limit except the operator's concurrency" })),
    replicas: z
      // Its placeholder is no number: see completeOperatorsArgs.
      .preprocess((number) => (isInput(number) ? undefined : number), replicas.default(1))
      .describe("The number of runners of each operator. One leads, the others stand by.")
      .meta(about({ key: "runnerReplicas" })),
    ...OPERATOR_OPTIONS,
    traces,
    ...common,
  },
  "Give the arguments of Operators.",
);

/** A field of a definition as an override, which has no default of its own. */
function withoutDefault<Schema extends z.ZodType>(schema: Schema): Schema {
  const { description = "" } = argumentOf("", schema);
  return schema
    .describe(description.replace(/ Default: .*$/, ""))
    .meta(about({ otherwise: "the definition's" }));
}

function withoutDefaults<Shape extends Readonly<Record<string, z.ZodType>>>(shape: Shape): Shape {
  return Object.fromEntries(
    Object.entries(shape).map(([field, schema]) => [field, withoutDefault(schema)]),
  ) as unknown as Shape;
}

/** The same with schemas of the three arguments that are not checked by a schema as a whole. */
export const DESCRIBED_ARGUMENTS = OPERATORS_ARGUMENTS.extend({
  handlers: z
    .string()
    .describe(
      "A folder with one subfolder for each operator, relative to the program's folder. Or the result of `loadOperators`.",
    )
    .meta(about({ typescript: "string | readonly Operator[]" })),
  overrides: mapOf(
    anyText(""),
    OVERRIDES.extend({
      ...withoutDefaults(OVERRIDES.shape),
      image: withoutDefault(laterImage(OVERRIDABLE.image).optional()),
      egress: withoutDefault(
        listOf(DESTINATION_ARGUMENT, "")
          .optional()
          .describe(OVERRIDABLE.egress.description ?? ""),
      ),
      files: withoutDefault(
        fields({ image: laterImage(OVERRIDABLE.files.shape.image) }, "")
          .optional()
          .describe(OVERRIDABLE.files.description ?? ""),
      ),
    })
      .describe(
        "What a stack uses instead of a definition's values. An image may be an Output: then it is pulled from no mirror.",
      )
      .meta(about({ type: "Overrides" })),
    "",
  )
    .optional()
    .describe(
      "Values that this stack uses instead of those in the operators' definitions, by the names of the operators. If the operators " +
        "are already loaded, give this argument to `loadOperators`.",
    )
    .meta(about({ otherwise: "nothing", typescript: "Readonly<Record<string, OverridesArgs | undefined>>" })),
  platform: PLATFORM_ARGUMENTS.optional()
    .describe(
      "A platform of this program, the platform of another stack (see `platformOfStack`), or arguments for a new platform. Argosy treats " +
        "any object that is no component and has no `argosyVersion` as arguments for a new platform.",
    )
    .meta(
      about({
        otherwise: "a new platform with all defaults",
        typescript: "PlatformComponent | Platform | ArgoPlatformArgs",
      }),
    ),
})
  .describe("The arguments of `Operators`.")
  .meta(about({ type: "Operators" }));

/** The arguments of a platform with every default filled in. Values that are known later are placeholders. */
export interface CompletePlatformArgs extends PlatformOptions {
  readonly jetStreamVersion: string;
  readonly data: DataMode;
}

/** The arguments of operators with every default filled in. Values that are known later are placeholders. */
export interface CompleteOperatorsArgs
  extends Omit<OperatorOptions, "platform" | "argosyVersion" | "eventPathName"> {
  readonly installation: string;
  readonly eventBus: EventBusOptions;
  readonly outsideEvents: EventBusOptions & { readonly intakes: number };
  readonly data: DataMode;
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
  const number = isInput(args.replicas) ? placeholderFor(args.replicas, replicas) : complete.replicas;
  return withoutUndefined({ ...complete, replicas: number });
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

/** The value without undefined fields at any depth. zod keeps fields that a program sets to undefined. */
function withoutUndefined<Value>(value: unknown): Value {
  if (typeof value !== "object" || value === null) return value as Value;
  if (Array.isArray(value)) return value.map(withoutUndefined) as Value;
  const given = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(given.map(([key, each]) => [key, withoutUndefined(each)])) as Value;
}
