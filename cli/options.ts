import { InvalidArgumentError, Option } from "commander";

/** `--project`: the program that a command works on. */
export const projectOption = () =>
  new Option(
    "--project <folder>",
    "the folder of the Pulumi program (default: the nearest Pulumi.yaml above)",
  );

/** `--handlers`: the operators that a command works on. */
const handlersOption = () =>
  new Option("--handlers <folder>", "the folder of the operators (default: handlers/ of the program)");

/** `--stack`: the stack whose configuration is read. */
export const stackOption = () =>
  new Option(
    "--stack <name>",
    "the stack whose Pulumi.<name>.yaml is read, with the defaults of Pulumi.yaml",
  ).default("dev");

/** `--stack`: the stack whose operators are used, as its program deploys them. */
const operatorsStackOption = () =>
  new Option(
    "--stack <name>",
    "use the operators that the program deploys in this stack, with the stack's overrides (default: use their definitions " +
      "alone)",
  );

/** `--platform`: for a stack that has only operators. */
export const platformOption = () =>
  new Option(
    "--platform <file>",
    'with parts "operators": a file with the outputs of the platform stack, from pulumi stack output --json --stack <name>',
  );

/** `--context`: the user's cluster. */
const contextOption = (what: string) => new Option("--context <name>", what);

/** `--kubeconfig`: the file that describes that cluster. */
const kubeconfigOption = () =>
  new Option(
    "--kubeconfig <file>",
    "the kubeconfig of that cluster (default: $KUBECONFIG, else ~/.kube/config)",
  );

/** `--namespace`: the namespace of an object. */
export const namespaceOption = (
  what = "the object's namespace (default: that of the kubeconfig's context)",
) => new Option("-n, --namespace <name>", what);

/** `--json`: for programs that read the output. */
export const jsonOption = (what = "print JSON") => new Option("--json", what);

/** The stack whose configuration is read, and its program. */
export const stackOptions = () => [stackOption(), platformOption(), projectOption()];

/** The choice of operators: those of a folder, or those that a program deploys in a stack. */
export const stackOperatorsOptions = () => [
  handlersOption(),
  operatorsStackOption(),
  platformOption(),
  projectOption(),
];

/** The choice of operators, as their folder defines them, and their program. */
export const operatorsOptions = () => [handlersOption(), projectOption()];

/** The choice of an existing cluster. */
export const clusterOptions = () => [
  contextOption("the cluster: a context of the kubeconfig (default: its current context)"),
  kubeconfigOption(),
];

/** The choice of a cluster other than the embedded one. */
export const ownClusterOptions = () => [
  contextOption(
    "use your own cluster: a context of the kubeconfig (default: a control plane that the command starts)",
  ),
  kubeconfigOption(),
];

/** The choice of a cluster, and the namespace of an object. @param json what `--json` prints */
export const objectOptions = (json?: string) => [namespaceOption(), ...clusterOptions(), jsonOption(json)];

/** An option's value that is a number, 0 or more. */
export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It must be a whole number, 0 or more.");
  return Number(text);
}

/** An option's value that is a number, 1 or more. */
export function positiveInteger(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("It must be a whole number above 0.");
  return Number(text);
}

/** An option's value that is a TCP port; 0 takes a free one. */
export function port(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 65_535)
    throw new InvalidArgumentError("It must be a port, 0 to 65535.");
  return number;
}
