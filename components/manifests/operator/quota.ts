import { identityOf, type Manifest, type Operator } from "../../../runtime/program";
import type { ConfigMap } from "../kinds";
import { labelsOf, type ManifestSet } from "../metadata";
import { runLimitNameOf } from "../names";
import { type PodsOptions, placementFields } from "../pods";
import { amountOf, type ResourceOptions, resourcesOf } from "../resources";
import type { OptionProblem } from "../workloads";
import { handlerResources } from "./handlerResources";

/** All that the pods of an operator's runs may have together. */
export interface Quota {
  /** How many pods there may be at once. @default the operator's concurrency */
  readonly pods?: number;
  /** Sums of requests, such as `cpu: "2"`. @default no limit */
  readonly requests?: Readonly<Record<string, string>>;
  /** Sums of limits. @default no limit */
  readonly limits?: Readonly<Record<string, string>>;
}

/** The figures of a quota as a ResourceQuota has them: "pods", "requests.cpu". */
function figuresOf({ pods, requests = {}, limits = {} }: Quota): Readonly<Record<string, string>> {
  const named = (field: string, figures: Readonly<Record<string, string>>) =>
    Object.entries(figures).map(([resource, figure]) => [`${field}.${resource}`, figure]);
  return Object.fromEntries([
    ...(pods === undefined ? [] : [["pods", String(pods)]]),
    ...named("requests", requests),
    ...named("limits", limits),
  ]);
}

/** What the runs of operators may use. */
export interface QuotaOptions {
  /** By the names of operators of the form "pod". @default no limit */
  readonly quotas?: Readonly<Record<string, Quota>>;
}

type Options = QuotaOptions & PodsOptions & ResourceOptions;

/** The priority class of an operator's runs. One of their own by which a quota knows them, if nobody has chosen another. */
export function runPriorityClassOf(operator: Operator, options: Options): string | undefined {
  const { priorityClassName } = placementFields("run", options, operator.name);
  return priorityClassName ?? (options.quotas?.[operator.name] && ownPriorityClass(operator));
}

function ownPriorityClass(operator: Operator): string {
  return `${identityOf(operator)}-runs`;
}

/**
 * The ResourceQuota of an operator's runs, and their priority class where none was chosen: by that the API server tells
 * these pods from all others of the namespace (https://kubernetes.io/docs/concepts/policy/resource-quotas/).
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
    // That of pods without a class.
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

/** Where Argo and the resync find how many runs of an operator go on at once: see {@link buildRunLimit}. */
export function runLimitKeyOf(operator: Operator) {
  return { name: runLimitNameOf(operator.name), key: RUN_LIMIT } as const;
}

/**
 * How many runs of an operator have a pod at once. In a ConfigMap, so that a change of it changes no run: one that waits keeps
 * its place, and none is of another program.
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

/** How many runs of an operator have a pod at once: as many as its concurrency allows, and no more than its quota has room for. */
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

/** What a pod of a run counts for a key of a quota, and its containers that say nothing of that. */
function neededOf(operator: Operator, options: Options, key: string): { amount: number; silent: string[] } {
  if (key === "pods") return { amount: 1, silent: [] };
  const [field, resource] = partsOf(key);
  const containers = {
    argoExecutor: resourcesOf("argoExecutor", options),
    runKit: resourcesOf("runKit", options),
    run: resourcesOf("run", options),
    handler: handlerResources(operator),
  };
  let amount = 0;
  const silent: string[] = [];
  for (const [name, { requests, limits }] of Object.entries(containers)) {
    const limit = (limits as Readonly<Record<string, string>> | undefined)?.[resource];
    const request = (requests as Readonly<Record<string, string>> | undefined)?.[resource];
    // A limit is the request where there is none.
    const figure = field === "limits" ? limit : (request ?? limit);
    if (figure === undefined) silent.push(name);
    else amount += amountOf(figure) ?? 0;
  }
  return { amount, silent };
}

/** What is wrong with the quotas of a program. */
export function quotaProblems(operators: readonly Operator[], options: Options): OptionProblem[] {
  return Object.entries(options.quotas ?? {}).flatMap(([name, quota]) => {
    const operator = operators.find((each) => each.name === name);
    const key = `quotas.${name}`;
    if (!operator) {
      const known = operators.map((each) => each.name).join(", ");
      return { key, complaint: "is unknown", remedy: `There are ${known}.` };
    }
    if (operator.execution !== "pod") {
      const remedy = "Give resources and replicas: a resident operator has no more pods than these.";
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
      { complaint: `is "${figure}", which is no quantity`, remedy: 'Give one, for example "2" or "4Gi".' },
    ];
  }
  const { amount: needed, silent } = neededOf(operator, options, key);
  if (silent.length > 0) {
    // The API server refuses such a pod for good, and no waiting helps.
    return [
      {
        complaint: `is given, and these containers of a run have no ${field} of ${resource}: ${silent.join(", ")}`,
        remedy:
          "Give it in resources of the program, for the handler in its definition, or leave this figure out.",
      },
    ];
  }
  if (needed > amount) {
    return [
      {
        complaint: `is "${figure}", less than the ${readable(needed, resource)} of a single run`,
        remedy: "Raise it, or lower what a run asks for.",
      },
    ];
  }
  return [];
}

function readable(amount: number, resource: string): string {
  if (resource === "memory") return `${Math.ceil(amount / 2 ** 20 - ROUNDING)}Mi`;
  return resource === "cpu" ? `${Math.ceil(amount * 1000 - ROUNDING)}m` : String(amount);
}
