import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { imageFiles } from "../../components/manifests/operator/handlerFiles";
import { displayPath } from "../../definition/problems";
import { CommandError, EXIT_CODES } from "../common/commandError";
import { command } from "../common/declaration";
import { writeNewFiles } from "../common/newFiles";
import { operatorsOptions, requiredOption } from "../common/options";
import { findHandlers, loadChosen, loaderOf } from "../common/project";
import { numbered, print } from "../common/terminal";

/**
 * `argosy files`: writes the files of an operator as its handler finds them in a cluster, to build an image from them.
 *
 * @throws UsageError for an operator that does not exist; CommandError if the folder is not empty; OperatorError if a file cannot
 *   be read
 */
export default command({
  description:
    "Writes the files of an operator as its handler finds them in a cluster, with the folders that it includes. A " +
    "function in JavaScript or TypeScript is bundled. Name an image with these files in files: { image: ... }.",
  arguments: [["<operator>", "the operator's name"]],
  options: [
    requiredOption("--out <folder>", "the folder to write to, which must be new or empty"),
    ...operatorsOptions(),
  ],
  async run(name, options) {
    const [operator] = loadChosen(loaderOf(findHandlers(options)), [name]);
    const out = path.resolve(options.out);
    if (existsSync(out) && readdirSync(out).length > 0) {
      throw new CommandError(`${displayPath(out)} is not empty. Name an empty folder with --out.`);
    }
    const carried = operator ? imageFiles(operator) : [];
    const written = carried.map(({ path: file, content }) => [file, content] as const);
    // Every file may be executed, as in a ConfigMap's volume.
    writeNewFiles(out, written, { mode: 0o755 });
    print(`${displayPath(out)}: ${numbered(carried.length, "file", "files")} of ${name}`);
    return EXIT_CODES.fine;
  },
});
