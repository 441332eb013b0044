import type { Container as PodContainer, Volume } from "../../../components/manifests/kinds";
import { buildOperator } from "../../../components/manifests/operator/operator";
import type { OperatorOptions } from "../../../components/manifests/operator/options";
import type { Operator } from "../../../runtime/operator/definition";
import { operatorOptions, withFiles } from "../operatorManifests";

type Container = Required<PodContainer>;

/** RBAC rules that give a handler a token. */
export const RULES = [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["get"] }];

/** What the tests read of a WorkflowTemplate. */
export interface Spec {
  readonly entrypoint: string;
  readonly serviceAccountName: string;
  readonly activeDeadlineSeconds: number;
  readonly automountServiceAccountToken?: boolean;
  readonly arguments: { readonly parameters: readonly { readonly name: string; readonly value: string }[] };
  readonly synchronization?: { readonly mutexes: readonly { readonly name: string }[] };
  readonly securityContext?: { readonly runAsNonRoot: boolean };
  readonly imagePullSecrets?: readonly object[];
  readonly podSpecPatch?: string;
  readonly ttlStrategy?: Readonly<Record<string, number>>;
  readonly templates: readonly [Template, ...Template[]];
}

export interface Template {
  readonly name: string;
  readonly plugin?: object;
  readonly container?: Container;
  readonly containerSet?: { readonly containers: readonly (Container & { dependencies?: string[] })[] };
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly pendingTimeout?: string;
  readonly activeDeadlineSeconds?: number;
  readonly synchronization?: object;
  readonly podSpecPatch?: string;
  readonly retryStrategy?: object;
}

/** The manifests of an operator, with access to the specs of its WorkflowTemplates. */
export function build(more: Partial<Operator>, options: OperatorOptions = operatorOptions()) {
  const { operator, files } = withFiles(more, { "main.py": "", "lib/util.py": "" }, options);
  const { parts: set } = buildOperator(operator, options, files);
  const specOf = (key: string) => set[key]?.spec as Spec;
  return { set, operator, files, specOf };
}

/** All containers of a WorkflowTemplate's first template. */
export function containersOf({ templates: [template] }: Spec): Container[] {
  const { containerSet, container, initContainers = [] } = template;
  return [...initContainers, ...(containerSet?.containers ?? []), ...(container ? [container] : [])];
}

/** The fields of an operator with a schedule. */
export const SCHEDULED: Partial<Operator> = {
  schedules: { nightly: { cron: "0 3 * * *", timeZone: "UTC", spreadSeconds: 60 } },
};
