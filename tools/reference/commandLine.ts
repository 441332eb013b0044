import type { Argument, Option } from "commander";
import { commands } from "../../cli/argosy";
import { code, sentence, table } from "./table";

const INTRODUCTION = `# Command line

The npm package contains the command \`argosy\`: \`npx argosy --help\`. In a clone of Argosy, use \`npm run argosy -- --help\`. Each command also has \`--help\`. This page is generated from the same source.

Exit codes: 0 success, 1 failure, 2 wrong arguments, 3 the command worked and found something: a problem or a change.
`;

/** docs/reference/command-line.md: every command with its arguments and options. */
export function commandLinePage(): string {
  const all = commands();
  const overview = table(
    ["command", "what it does"],
    all.map(({ name, summary }) => [`[\`argosy ${name}\`](#argosy-${name})`, summary]),
  );
  const sections = all.map(({ name, command }) => {
    const { registeredArguments, options } = command;
    const parts = [
      `## argosy ${name}\n\n${fenced(command.description())}\n`,
      `\`\`\`text\nargosy ${name} ${command.usage()}\n\`\`\`\n`,
      registeredArguments.length > 0 && table(["argument", "meaning"], registeredArguments.map(argumentRow)),
      options.length > 0 && table(["option", "meaning"], options.map(optionRow)),
    ];
    return parts.filter((part) => part !== false).join("\n");
  });
  return [INTRODUCTION, overview, ...sections].join("\n");
}

function argumentRow(argument: Argument): string[] {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return [code(argument.required ? `<${name}>` : `[${name}]`), sentence(argument.description)];
}

function optionRow({ flags, description, defaultValue, mandatory, argChoices }: Option): string[] {
  const given = typeof defaultValue === "string" || typeof defaultValue === "number";
  const words = argChoices && `One of ${argChoices.map(code).join(", ")}.`;
  const notes = [mandatory && "Required.", words, given && `Default: \`${defaultValue}\`.`].filter(Boolean);
  return [code(flags), [sentence(description), ...notes].join(" ")];
}

/** A help text with its indented lines in a fence. */
function fenced(help: string): string {
  return help.replace(/(\n {2}.*)+/g, (lines) => `\n\n\`\`\`text${lines.replaceAll("\n  ", "\n")}\n\`\`\``);
}
