import { InvalidArgumentError, Option } from "commander";
import type { z } from "zod";
import { isCompiled } from "../../components/assets";
import { writeJson } from "../../runtime/base/json";
import { print } from "./terminal";

declare const VALUE: unique symbol;

/** An option. Its type has the name and the type of its value: undefined is a part of that if the option may be left out. */
export type OptionOf<Name extends string = string, Value = unknown> = Option & {
  readonly [VALUE]?: readonly [Name, Value];
};

/** The values of options, by the options' names in camel case. */
export type ValuesOf<Options extends readonly OptionOf[]> = {
  readonly [Each in EntryOf<Options> as undefined extends Each[1] ? Each[0] : never]?: NonNullable<Each[1]>;
} & { readonly [Each in EntryOf<Options> as undefined extends Each[1] ? never : Each[0]]: Each[1] };

type EntryOf<Options extends readonly OptionOf[]> = NonNullable<Options[number][typeof VALUE]>;

/** "withSecrets" of "--with-secrets", and "table" of "--no-table", as commander names the value. */
type NameOf<Flags extends string> = Flags extends `${string}--${infer Rest}` ? CamelCase<Word<Rest>> : never;
type Word<Text extends string> = Text extends `no-${infer Rest}`
  ? Word<Rest>
  : Text extends `${infer First} ${string}`
    ? First
    : Text;
type CamelCase<Text extends string> = Text extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Text;

type Made<Flags extends string, Value> = OptionOf<NameOf<Flags>, Value>;

/** An option that is given or not: "--json". What "--no-table" names is true without it. */
export const flag = <Flags extends string>(
  flags: Flags,
  description: string,
): Made<Flags, Flags extends `--no-${string}` ? boolean : true | undefined> => new Option(flags, description);

/** An option with a value, which may be left out. */
export const option = <Flags extends string>(
  flags: Flags,
  description: string,
): Made<Flags, string | undefined> => new Option(flags, description);

/** An option that must be given. */
export const requiredOption = <Flags extends string>(
  flags: Flags,
  description: string,
): Made<Flags, string> => new Option(flags, description).makeOptionMandatory();

/** An option that has a value if it is left out. @param parse reads the value that is given. Default: it is a text */
export function optionWithDefault<Flags extends string, Value>(
  flags: Flags,
  description: string,
  value: Value,
  parse?: (text: string) => Value,
): Made<Flags, Value> {
  const made = new Option(flags, description).default(value);
  return parse ? made.argParser(parse) : made;
}

/** An option that has one of some words. Its command refuses others. @param value the word if it is left out */
export function choice<Flags extends string>(
  flags: Flags,
  description: string,
  words: readonly string[],
  value: string,
): Made<Flags, string> {
  const made = new Option(flags, description).default(value);
  made.argChoices = [...words];
  return made;
}

/** `--project`: the program that a command works on. */
export const projectOption = () =>
  option("--project <folder>", "the folder of the Pulumi program (default: the nearest Pulumi.yaml above)");

/** `--stack`: the stack whose configuration is read. */
export const stackOption = () =>
  optionWithDefault(
    "--stack <name>",
    "the stack whose Pulumi.<name>.yaml is read, with the defaults of Pulumi.yaml",
    "dev",
  );

/** `--platform`: for a stack that has only operators. */
export const platformOption = () =>
  option(
    "--platform <file>",
    'with parts "operators": a file with the outputs of the platform stack, from pulumi stack output --json --stack <name>',
  );

/** `--namespace`: the namespace of an object. */
export const namespaceOption = (
  what = "the object's namespace (default: that of the kubeconfig's context)",
) => option("-n, --namespace <name>", what);

/** Prints a value as a line of JSON. */
export type JsonPrinter<Line extends z.ZodType> = (value: z.infer<Line>) => void;

/** `--json`: for programs that read the output. It is the only way to print JSON, so whatever is printed has a schema. */
export class JsonOption extends Option {
  /** @param line the schema of each line that is printed */
  constructor(
    readonly line: z.ZodType,
    description: string,
  ) {
    super("--json", description);
    this.preset((value: unknown) => {
      const text = writeJson(value);
      // Only in the sources, and so in tests: a user gets the line in any case.
      if (!isCompiled()) line.parse(JSON.parse(text));
      print(text);
    });
  }
}

/** The file of the package with the schemas of what commands print, each as a definition of the command's name. */
export const OUTPUT_SCHEMA = "output.schema.json";

/** `--json`, whose value prints what the schema says. @param line the schema of each line that is printed */
export const jsonOption = <Line extends z.ZodType>(
  line: Line,
  what = "print JSON",
): Made<"--json", JsonPrinter<Line> | undefined> => new JsonOption(line, what);

/** The stack whose configuration is read, and its program. */
export const stackOptions = () => [stackOption(), platformOption(), projectOption()];

/** The choice of operators, as their folder defines them, and their program. */
export const operatorsOptions = () => [
  option("--handlers <folder>", "the folder of the operators (default: handlers/ of the program)"),
  projectOption(),
];

/** The values of {@link operatorsOptions}. */
export type HandlersOptions = ValuesOf<ReturnType<typeof operatorsOptions>>;

/** The choice of operators: those of a folder, or those that a program deploys in a stack. */
export const stackOperatorsOptions = () => [
  ...operatorsOptions(),
  option(
    "--stack <name>",
    "use the operators that the program deploys in this stack, with the stack's overrides (default: use their definitions " +
      "alone)",
  ),
  platformOption(),
];

/** The values of {@link stackOperatorsOptions}. */
export type OperatorsOptions = ValuesOf<ReturnType<typeof stackOperatorsOptions>>;

/** The choice of an existing cluster. @param what what `--context` names */
export const clusterOptions = (
  what = "the cluster: a context of the kubeconfig (default: its current context)",
) => [
  option("--context <name>", what),
  option("--kubeconfig <file>", "the kubeconfig of that cluster (default: $KUBECONFIG, else ~/.kube/config)"),
];

/** The values of {@link clusterOptions}. */
export type ClusterOptions = ValuesOf<ReturnType<typeof clusterOptions>>;

/** The choice of a cluster other than the embedded one. */
export const ownClusterOptions = () =>
  clusterOptions(
    "use your own cluster: a context of the kubeconfig (default: a control plane that the command starts)",
  );

/** The choice of a cluster, and the namespace of an object. @param line the schema of each line that `--json` prints */
export const objectOptions = <Line extends z.ZodType>(line: Line, json?: string) => [
  namespaceOption(),
  ...clusterOptions(),
  jsonOption(line, json),
];

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
