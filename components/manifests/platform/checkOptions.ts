import { DNS_LABEL, oneOf, pattern, type Shape } from "../../../runtime/program";
import { checkWorkloadOptions, type OptionProblem } from "../workloads";
import { ownsController, type PlatformOptions } from "./options";

const namespaceShape = pattern(
  DNS_LABEL,
  "a DNS label",
  'At most 63 lower-case letters, digits and "-", for example "argosy".',
);
const installationShape = oneOf(["install", "share", "adopt"], 'The default is "install".');
const instanceIdShape = pattern(
  /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$/,
  "the value of a label",
  'At most 63 letters, digits, "-", "_" and ".", for example "argosy".',
);

/**
 * Everything that is wrong with a platform's options, in the order of their keys.
 */
export function checkPlatformOptions(options: PlatformOptions): readonly OptionProblem[] {
  const problems: OptionProblem[] = [];
  const report = (key: string, complaint: string, remedy: string) =>
    problems.push({ key, complaint, remedy });
  const check = (key: keyof PlatformOptions, shape: Shape) => shape.check(options[key], key, report);

  check("namespace", namespaceShape);
  check("controllerNamespace", namespaceShape);
  checkNamespaces(options, report);
  check("argoEvents", installationShape);
  check("argoWorkflows", installationShape);
  if (options.instanceId !== "") {
    check("instanceId", instanceIdShape);
  } else if (options.argoWorkflows === "share") {
    // Without one ours takes every Workflow that has no label, and so does the controller beside it.
    report("instanceId", 'is "", and argoWorkflows is "share"', 'Give one, for example "argosy".');
  }
  if (options.archive && !ownsController(options.argoWorkflows)) {
    report(
      "archive",
      'is given, and argoWorkflows is "adopt"',
      "Set up that of the controller that is there.",
    );
  }
  return [...problems, ...checkWorkloadOptions(options)];
}

function checkNamespaces(
  { namespace, controllerNamespace, createNamespaces }: PlatformOptions,
  report: (key: string, complaint: string, remedy: string) => void,
): void {
  if (namespace === controllerNamespace) {
    report(
      "controllerNamespace",
      `is "${controllerNamespace}", as namespace is`,
      "Give Argo's controllers a namespace of their own: their tokens are none of the operators' business.",
    );
  }
  if (!createNamespaces) return;
  for (const [key, name] of Object.entries({ namespace, controllerNamespace })) {
    if (name !== "default" && !/^kube-/.test(name)) continue;
    report(key, `is "${name}", which is Kubernetes' own`, "Name another, or set createNamespaces to false.");
  }
}
