import type { CommandLine } from "../common/command";
import { EXIT_CODES, UsageError } from "../common/commandError";
import { completionFor, type Described, SHELLS } from "../common/completion";
import { command } from "../common/declaration";
import { print } from "../common/terminal";

/**
 * `argosy completion`: the script by which a shell completes the command line.
 * @param name its name
 * @param commands gives all commands, which their files describe
 * @throws UsageError for another shell
 */
export default function completion(name: string, commands: () => readonly Described[]): CommandLine {
  return command({
    description:
      "Prints a script for a shell, which then completes commands, options and values. For bash: source <(argosy completion bash)",
    arguments: [["<shell>", `the shell: ${SHELLS.join(", ")}`]],
    options: [],
    run: async (given) => {
      const shell = SHELLS.find((each) => each === given);
      if (!shell)
        throw new UsageError(`There is no completion for ${given}. Write one of ${SHELLS.join(", ")}.`);
      print(completionFor(shell, commands()).trimEnd());
      return EXIT_CODES.fine;
    },
  })(name);
}
