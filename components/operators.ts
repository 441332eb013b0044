import * as pulumi from "@pulumi/pulumi";
import { checkOperators, type Operator as OperatorDefinition } from "../runtime/program";
import { ArgoPlatform, type ArgoPlatformArgs, platformOf } from "./argoPlatform";
import { refuse } from "./configuration/configurationError";
import { engineFiles } from "./engineBundle";
import { EventPath } from "./eventPath";
import { planEventPath } from "./manifests/eventPath/eventSource";
import type { EventBusOptions } from "./manifests/eventPath/options";
import { buildEngineFiles, buildFiles } from "./manifests/operator/configMaps";
import type { Platform } from "./manifests/platform/options";
import { checkWorkloadOptions, type WorkloadOptions, workloadOptionsOf } from "./manifests/workloads";
import { Operator } from "./operator";
import { warnOfSdk } from "./package";
import { after, register } from "./register";

/** What {@link Operators} are made from. */
export interface OperatorsArgs extends WorkloadOptions {
  /** The definitions, each checked: see `loadOperators`. */
  readonly definitions: readonly OperatorDefinition[];
  /** The platform to make, or one that is there. */
  readonly platform: ArgoPlatformArgs | Platform;
  /** Names the event path. Programs that share a platform need different ones. @default the component's name */
  readonly eventPathName?: string;
  readonly eventBus: EventBusOptions;
  /** Runners of each resident operator. */
  readonly replicas: number;
  /** How long Workflows of runs that succeeded are kept, in seconds. */
  readonly runsKeptSeconds: number;
  /** How long Workflows of runs that failed are kept, in seconds. */
  readonly failedRunsKeptSeconds: number;
  /** The only namespace from which the runners' metrics can be had. @default any */
  readonly prometheusNamespace?: string;
  /** Whether Pulumi refuses to delete CRDs, namespaces and the event bus. @default false */
  readonly protect?: boolean;
}

/**
 * Operators with all that they need: the platform, the event path that they share, and each operator.
 *
 * @example
 * ```ts
 * const argosy = new Operators("argosy", {
 *   definitions: loadOperators(path.join(__dirname, "handlers")),
 *   platform: { namespace: "argosy", instanceId: "argosy", jetStreamVersion: JETSTREAM_VERSION },
 *   eventBus: { replicas: 1 },
 *   placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
 *   replicas: 2,
 *   runsKeptSeconds: 3600,
 *   failedRunsKeptSeconds: 86400,
 * });
 * ```
 */
export class Operators extends pulumi.ComponentResource {
  readonly platform: Platform;
  readonly eventPath: EventPath;
  readonly operators: readonly Operator[];
  /** Names of the operators' CRDs: "memcacheds.cache.example.com". */
  readonly customResources: readonly string[];

  /** @throws OperatorError, before anything is registered, with everything that an author has to put right */
  constructor(name: string, args: OperatorsArgs, opts?: pulumi.ComponentResourceOptions) {
    const { definitions, protect = false, eventPathName = name } = args;
    const platform = "controllerNamespace" in args.platform ? platformOf(args.platform) : args.platform;
    const workloads = workloadOptionsOf(args);
    const path = { ...workloads, name: eventPathName, platform, eventBus: args.eventBus };
    const options = { ...args, platform, eventPathName };
    const engine = buildEngineFiles(eventPathName, platform.namespace, { ...engineFiles() });
    checkOperators(definitions);
    refuse(
      checkWorkloadOptions(
        args,
        definitions.map((definition) => definition.name),
      ),
    );
    planEventPath(definitions, path);
    const plans = definitions.map((definition) => ({
      definition,
      files: buildFiles(definition, options, engine),
    }));

    super("argosy:index:Operators", name, {}, opts);
    warnOfSdk();
    const child = { parent: this };
    const ground =
      "controllerNamespace" in args.platform
        ? [new ArgoPlatform(name, { ...workloads, ...args.platform, protect }, child)]
        : [];
    const above = after(child, ground);

    this.platform = platform;
    // A quarter of a megabyte that nobody can read: its name, a hash, tells that it has changed.
    const shared = register(`${eventPathName}-engine`, engine, { ...above, hideDiffs: ["data"] });
    this.eventPath = new EventPath(
      eventPathName,
      { ...path, operators: definitions, engine, protect },
      after(above, [shared]),
    );
    const beneath = [this.eventPath, shared];
    this.operators = plans.map((plan) => {
      const { name: operator } = plan.definition;
      return new Operator(operator, { ...options, ...plan, beneath, protect }, above);
    });
    this.customResources = definitions.map(({ customResource: { plural, group } }) => `${plural}.${group}`);
    this.registerOutputs({ platform, customResources: this.customResources });
  }
}
