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

/** `--stack`: whose configuration is read. */
export const stackOption = () =>
  new Option(
    "--stack <name>",
    "the stack whose Pulumi.<name>.yaml is read, with the defaults of Pulumi.yaml",
  ).default("dev");

/** `--stack`: whose operators are taken, as its program deploys them. */
const operatorsStackOption = () =>
  new Option(
    "--stack <name>",
    "take the operators that the program deploys in this stack, with its overrides (default: as they are defined)",
  );

/** `--platform`: for a stack that has only operators. */
export const platformOption = () =>
  new Option(
    "--platform <file>",
    'with parts "operators": the platform stack\'s outputs, from pulumi stack output --json --stack <name>',
  );

/** `--context`: the user's cluster. */
const contextOption = () =>
  new Option("--context <name>", "use a cluster of yours: a context of the kubeconfig");

/** `--kubeconfig`: where that cluster is described. */
const kubeconfigOption = () =>
  new Option(
    "--kubeconfig <file>",
    "the kubeconfig of that cluster (default: $KUBECONFIG, else ~/.kube/config)",
  );

/** `--namespace`: where an object is. */
export const namespaceOption = (
  what = "the object's namespace (default: that of the kubeconfig's context)",
) => new Option("-n, --namespace <name>", what);

/** `--json`: for programs that read the output. */
export const jsonOption = (what = "print JSON") => new Option("--json", what);

/** Whose configuration is read, and of which program. */
export const stackOptions = () => [stackOption(), platformOption(), projectOption()];

/** Which operators: those of a folder, or those that a program deploys in a stack. */
export const stackOperatorsOptions = () => [
  handlersOption(),
  operatorsStackOption(),
  platformOption(),
  projectOption(),
];

/** Which operators, as their folder defines them, and of which program. */
export const operatorsOptions = () => [handlersOption(), projectOption()];

/** Which cluster, if not the embedded one. */
export const clusterOptions = () => [contextOption(), kubeconfigOption()];

/** Which cluster, and where an object is in it. @param json what `--json` prints */
export const objectOptions = (json?: string) => [namespaceOption(), ...clusterOptions(), jsonOption(json)];

/** An option's value that counts something, 0 included. */
export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It must be a whole number, 0 or more.");
  return Number(text);
}

/** An option's value that counts what must be there. */
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
