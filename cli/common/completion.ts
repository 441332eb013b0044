import type { Command, Option } from "commander";

/** A command, as its declaration describes it. */
export interface Described {
  readonly name: string;
  readonly summary: string;
  readonly command: Command;
}

/** The shells for which there is a completion. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/**
 * The script by which a shell completes the command line: commands, their options, and the values of options that have a choice of
 * them. Everything else is completed as a path, which is what most arguments and options are.
 */
export function completionFor(shell: (typeof SHELLS)[number], commands: readonly Described[]): string {
  return { bash, zsh, fish }[shell](commands);
}

function bash(commands: readonly Described[]): string {
  const cases = commands.flatMap(({ name, command }) => [
    `    "${name} -"*) words="${optionsOf(command).flatMap(flagsOf).join(" ")}" ;;`,
  ]);
  const values = commands.flatMap(({ name, command }) =>
    optionsOf(command)
      .filter(hasValue)
      .flatMap((option) => {
        const patterns = flagsOf(option).map((each) => `"${name} ${each}"`);
        return `    ${patterns.join(" | ")}) words="${(option.argChoices ?? []).join(" ")}" ;;`;
      }),
  );
  return `# Completion of argosy in bash. In ~/.bashrc: source <(argosy completion bash)
_argosy() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${[...commands.map(({ name }) => name), "help --help --version"].join(" ")}"
  else
    case "$command $before" in
${values.join("\n")}
    *) case "$command $word" in
${cases.join("\n")}
    esac ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _argosy argosy
`;
}

function zsh(commands: readonly Described[]): string {
  const cases = commands.map(({ name, command }) => {
    const specs = optionsOf(command).flatMap((option) => {
      const text = `[${option.description.replace(/[\\[\]:]/g, "\\$&")}]`;
      const values = option.argChoices ? `(${option.argChoices.join(" ")})` : "_files";
      const value = hasValue(option) ? `:value:${values}` : "";
      return flagsOf(option).map((flag) => quoted(`${flag}${text}${value}`));
    });
    return `    ${name}) _arguments ${[...specs, quoted("*:argument:_files")].join(" ")} ;;`;
  });
  const names = commands.map(({ name, summary }) => quoted(`${name}:${summary.replaceAll(":", "\\:")}`));
  return `#compdef argosy
# Completion of argosy in zsh. In ~/.zshrc, after compinit: source <(argosy completion zsh)
_argosy() {
  local -a commands=(${names.join(" ")})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join("\n")}
  esac
}
compdef _argosy argosy
`;
}

function fish(commands: readonly Described[]): string {
  const lines = commands.flatMap(({ name, summary, command }) => [
    `complete -c argosy -f -n __fish_use_subcommand -a ${name} -d ${quotedInFish(summary)}`,
    ...optionsOf(command).map((option) => {
      const names = flagsOf(option).map((each) =>
        each.startsWith("--") ? `-l ${each.slice(2)}` : `-s ${each.slice(1)}`,
      );
      const choices = option.argChoices ? ` -x -a ${quotedInFish(option.argChoices.join(" "))}` : " -r -F";
      const value = hasValue(option) ? choices : "";
      const seen = quotedInFish(`__fish_seen_subcommand_from ${name}`);
      return `complete -c argosy -n ${seen} ${names.join(" ")}${value} -d ${quotedInFish(option.description)}`;
    }),
  ]);
  return `# Completion of argosy in fish. In ~/.config/fish/config.fish: argosy completion fish | source
${lines.join("\n")}
`;
}

/** Those that the command declares, and `--help`, which every command has. */
function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}

function flagsOf({ short, long }: Option): string[] {
  return [short, long].filter((flag) => flag !== undefined);
}

function hasValue({ required, optional }: Option): boolean {
  return required || optional;
}

/** A word of a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The same in fish, which reads a backslash in quotes as an escape. */
function quotedInFish(text: string): string {
  return quoted(text.replaceAll("\\", "\\\\"));
}
