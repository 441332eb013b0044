import { amountOf } from "../../../definition/quantity";
import { identityOf, type Manifest, type Operator } from "../../../runtime/program";
import type { ConfigMap, Resources } from "../kinds";
import { labelsOf, type ManifestSet } from "../metadata";
import { runLimitNameOf } from "../names";
import { type PodsOptions, placementFields } from "../pods";
import { type ResourceOptions, resourcesOf } from "../resources";
import type { OptionProblem } from "../workloads";
import { handlerResources } from "./handlerResources";

/** The limits for all pods of an operator's runs together. The argument `quotas` says what each field means. */
export interface Quota {
  readonly pods?: number;
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

/** The figures of a quota in the form of a ResourceQuota: "pods", "requests.cpu". */
function figuresOf({ pods, requests = {}, limits = {} }: Quota): Readonly<Record<string, string>> {
  const named = (field: string, figures: Readonly<Record<string, string>>) =>
    Object.entries(figures).map(([resource, figure]) => [`${field}.${resource}`, figure]);
  return Object.fromEntries([
    ...(pods === undefined ? [] : [["pods", String(pods)]]),
    ...named("requests", requests),
    ...named("limits", limits),
  ]);
}

/** The limits of operators' runs. */
export interface QuotaOptions {
  /** By the names of operators of the form "pod". @default no limit */
  readonly quotas?: Readonly<Record<string, Quota>>;
}

type Options = QuotaOptions & PodsOptions & ResourceOptions;

/**
 * The priority class of an operator's runs. If the program has not chosen one and there is a quota, the runs have a priority
 * class of their own, which the quota selects.
 */
export function runPriorityClassOf(operator: Operator, options: Options): string | undefined {
  const { priorityClassName } = placementFields("run", options, operator.name);
  return priorityClassName ?? (options.quotas?.[operator.name] && ownPriorityClass(operator));
}

function ownPriorityClass(operator: Operator): string {
  return `${identityOf(operator)}-runs`;
}

/**
 * The ResourceQuota of an operator's runs, and their priority class if none was chosen. The API server uses the class to tell
 * these pods from all others in the namespace (https://kubernetes.io/docs/concepts/policy/resource-quotas/).
 */
export function buildQuota(
  operator: Operator,
  options: Options & { readonly platform: { readonly namespace: string } },
): ManifestSet {
  const given = options.quotas?.[operator.name];
  const priorityClass = runPriorityClassOf(operator, options);
  if (!given || priorityClass === undefined) return {};
  const labels = labelsOf(operator.name, "runs");
  const own: Manifest = {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name: priorityClass, labels },
    // The value of pods without a class.
    value: 0,
    description: `The runs of the operator ${identityOf(operator)}, for their ResourceQuota.`,
  };
  const quota: Manifest = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: runLimitNameOf(operator.name), namespace: options.platform.namespace, labels },
    spec: {
      hard: figuresOf(given),
      scopeSelector: {
        matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: [priorityClass] }],
      },
    },
  };
  return {
    ...(priorityClass === ownPriorityClass(operator) && { "run-priority": own }),
    "run-quota": quota,
  };
}

/** The key of an operator's number of pods in its ConfigMap. */
const RUN_LIMIT = "pods";

/** The place where Argo reads how many runs of an operator may have a pod at once: see {@link buildRunLimit}. */
export function runLimitKeyOf(operator: Operator) {
  return { name: runLimitNameOf(operator.name), key: RUN_LIMIT } as const;
}

/**
 * The ConfigMap that says how many runs of an operator may have a pod at once. The number is not part of the runs, so that a
 * change of the number changes no run.
 */
export function buildRunLimit(
  operator: Operator,
  options: Options & { readonly platform: { readonly namespace: string } },
): ConfigMap {
  const { namespace } = options.platform;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: runLimitNameOf(operator.name), namespace, labels: labelsOf(operator.name, "runs") },
    data: { [RUN_LIMIT]: String(runsAtOnce(operator, options)) },
  };
}

/** How many runs of an operator have a pod at once: as many as its concurrency and its quota allow. */
export function runsAtOnce(operator: Operator, options: Options): number {
  const hard = Object.entries(figuresOf(options.quotas?.[operator.name] ?? {}));
  const fitting = hard.map(([key, figure]) =>
    Math.floor((amountOf(figure) ?? 0) / (neededOf(operator, options, key).amount || 1) + ROUNDING),
  );
  return Math.min(operator.concurrency, ...fitting);
}

/** 0.3 / 0.1 is a little less than three. */
const ROUNDING = 1e-9;

/** "requests.nvidia.com/gpu" is about requests of "nvidia.com/gpu". */
function partsOf(key: string): [field: string, resource: string] {
  const dot = key.indexOf(".");
  return [key.slice(0, dot), key.slice(dot + 1)];
}

/** The amount that a run's pod counts for a key of a quota, and its containers that have no figure for that key. */
function neededOf(operator: Operator, options: Options, key: string): { amount: number; silent: string[] } {
  if (key === "pods") return { amount: 1, silent: [] };
  const [field, resource] = partsOf(key);
  const containers: Readonly<Record<string, Resources>> = {
    argoExecutor: resourcesOf("argoExecutor", options),
    runHandlerShell: resourcesOf("runHandlerShell", options),
    run: resourcesOf("run", options),
    handler: handlerResources(operator),
  };
  let amount = 0;
  const silent: string[] = [];
  for (const [name, { requests, limits }] of Object.entries(containers)) {
    const limit = limits?.[resource];
    const request = requests?.[resource];
    // If there is no request, the limit is the request.
    const figure = field === "limits" ? limit : (request ?? limit);
    if (figure === undefined) silent.push(name);
    else amount += amountOf(figure) ?? 0;
  }
  return { amount, silent };
}

/** The problems of a program's quotas. */
export function quotaProblems(operators: readonly Operator[], options: Options): OptionProblem[] {
  return Object.entries(options.quotas ?? {}).flatMap(([name, quota]) => {
    const operator = operators.find((each) => each.name === name);
    const key = `quotas.${name}`;
    if (!operator) {
      const known = operators.map((each) => each.name).join(", ");
      return { key, complaint: "is unknown", remedy: `There are ${known}.` };
    }
    if (operator.execution !== "pod") {
      const remedy = "Give resources and replicas instead: they limit the pods of a resident operator.";
      return { key, complaint: 'is given, and the execution of the operator is not "pod"', remedy };
    }
    return Object.entries(figuresOf(quota)).flatMap(([each, figure]) =>
      problemsOfFigure(operator, options, each, figure).map((problem) => ({
        key: `${key}.${each}`,
        ...problem,
      })),
    );
  });
}

function problemsOfFigure(operator: Operator, options: Options, key: string, figure: string) {
  const [field, resource] = partsOf(key);
  const amount = amountOf(figure);
  if (amount === undefined) {
    return [
      { complaint: `is "${figure}", which is not a quantity`, remedy: 'Give one, for example "2" or "4Gi".' },
    ];
  }
  const { amount: needed, silent } = neededOf(operator, options, key);
  if (silent.length > 0) {
    // The API server refuses such a pod for ever.
    return [
      {
        complaint: `is given, but these containers of a run have no ${field} of ${resource}: ${silent.join(", ")}`,
        remedy:
          "Give it in resources of the program, for the handler in its definition, or leave this figure out.",
      },
    ];
  }
  if (needed > amount) {
    return [
      {
        complaint: `is "${figure}", which is less than the ${readable(needed, resource)} of a single run`,
        remedy: "Raise this limit, or lower the requests of the run's containers.",
      },
    ];
  }
  return [];
}

function readable(amount: number, resource: string): string {
  if (resource === "memory") return `${Math.ceil(amount / 2 ** 20 - ROUNDING)}Mi`;
  return resource === "cpu" ? `${Math.ceil(amount * 1000 - ROUNDING)}m` : String(amount);
}
