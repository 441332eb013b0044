import { Command } from "commander";
import { PACKAGE_NAME } from "../../components/package";
import type { Action, CommandLine } from "./command";
import { UsageError } from "./commandError";
import { JsonOption, type OptionOf, OUTPUT_SCHEMA, type ValuesOf } from "./options";

/** An argument as the help shows it, "<name>", "[name]" or "[names...]", and what it means. */
type Argument = readonly [name: string, description: string];

type ValueOf<Name extends string> = Name extends `${string}...${string}`
  ? readonly string[]
  : Name extends `[${string}`
    ? string | undefined
    : string;

/** What an action gets: the value of each argument, and then those of the options. */
type Given<Arguments extends readonly Argument[], Options extends readonly OptionOf[]> = readonly [
  ...{ [Index in keyof Arguments]: ValueOf<Arguments[Index][0]> },
  ValuesOf<Options>,
];

/**
 * A command of `argosy`: its help, its arguments, its options, and its action, which gets their values.
 * @returns the command line of the command with a name
 */
export function command<
  const Arguments extends readonly Argument[] = [],
  const Options extends readonly OptionOf[] = [],
>({
  description,
  arguments: named,
  options,
  ...action
}: {
  /** The text in the command's own help. */
  readonly description: string;
  readonly arguments?: Arguments;
  readonly options: Options;
} & Action<[...Given<Arguments, Options>]>): (name: string) => CommandLine {
  return (name) => {
    const parser = new Command(`argosy ${name}`).description(description);
    for (const argument of named ?? []) parser.argument(...argument);
    for (const option of options) parser.addOption(option);
    if (options.some((option) => option instanceof JsonOption))
      parser.addHelpText(
        "after",
        `\nThe schema of its JSON: ${PACKAGE_NAME}/${OUTPUT_SCHEMA}#/definitions/${name}`,
      );
    const given = () => {
      refuseEmptyValues(parser);
      return [...parser.processedArgs, parser.opts()] as unknown as Given<Arguments, Options>;
    };
    return "run" in action
      ? { command: parser, run: async () => action.run(...given()) }
      : { command: parser, runUntil: async (signal) => action.runUntil(...given(), signal) };
  };
}

/** A variable that a shell does not know leaves an empty value. It would mean the default, for instance another cluster. */
function refuseEmptyValues(command: Command): void {
  const empty = command.options.find((option) => command.getOptionValue(option.attributeName()) === "");
  if (empty)
    throw new UsageError(`${empty.long} has an empty value. Give another one, or leave out the option.`);
}
