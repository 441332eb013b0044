import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { parseDocument } from "yaml";
import { assetPath, isCompiled, PACKED_NAMES } from "../../components/assets";
import { ARGOSY_VERSION, PACKAGE_NAME } from "../../components/package";
import { foldersAbove } from "../../definition/foldersAbove";
import { displayPath } from "../../definition/problems";
import { CommandError, EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { writeNewFiles } from "../common/newFiles";
import { flag, option } from "../common/options";
import { shellWord } from "../common/shellWord";
import { print } from "../common/terminal";

/**
 * `argosy init`: creates the program of templates/typescript in an empty folder, as `pulumi new` does. It runs nothing and
 * installs nothing.
 *
 * @throws CommandError if the folder is not empty; UsageError if the name is not valid
 */
export default command({
  description:
    "Creates a Pulumi program in TypeScript in an empty folder: a small operator with a fixture, the stack dev, and a " +
    "GitHub workflow that tests, previews and deploys. Nothing is installed or deployed.",
  arguments: [["[folder]", "the folder for the program (default: the current one)"]],
  options: [
    option("--name <project>", "the name of the Pulumi project (default: the name of the folder)"),
    flag("--force", "also use a folder that is not empty; existing files stay as they are"),
  ],
  async run(folder = ".", { name, force }) {
    const place = path.resolve(folder);
    const project = projectName(name, place);
    if (existsSync(place) && !statSync(place).isDirectory()) {
      throw new UsageError(`${displayPath(place)} is a file. Name a folder.`);
    }
    const others = existsSync(place) ? readdirSync(place).filter((each) => each !== ".git") : [];
    if (others.length > 0 && !force) {
      throw new CommandError(
        `${place === process.cwd() ? "This folder" : displayPath(place)} is not empty: it contains ${others.slice(0, 3).join(", ")}${others.length > 3 ? " and more" : ""}. ` +
          "Name an empty folder. With --force, missing files are added and existing files stay as they are.",
      );
    }
    const parts = [...templateParts(project)];
    const missing = parts.filter(([part]) => !existsSync(path.join(place, part)));
    writeNewFiles(
      place,
      missing.flatMap(([, files]) => files),
    );
    for (const part of parts) print(`${missing.includes(part) ? "written" : "kept   "}  ${part[0]}`);
    print(instructions(folder));
    const repository = repositoryAbove(place);
    if (repository !== undefined) print(workflowAdvice(path.relative(repository, place)));
    return EXIT_CODES.fine;
  },
});

/** The form of a name that both npm and Pulumi accept. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/;

function projectName(given: string | undefined, folder: string): string {
  if (given !== undefined) {
    if (NAME.test(given)) return given;
    throw new UsageError(
      `--name ${given}: it must begin with a letter or a digit, and contain only lower-case letters, digits, ".", "_" and "-".`,
    );
  }
  const made = path
    .basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "");
  return NAME.test(made) ? made : "operators";
}

function instructions(folder: string): string {
  return `
Next:
${[...install(folder), ""].join("\n")}  npm test                   the handlers return what their fixtures expect
  npm run dev                run the operators on this machine
  pulumi stack init dev      then pulumi up, to deploy to the cluster of your kubeconfig
`;
}

/** A program that a clone makes has the package as a tarball in its folder: no registry has that, and CI sees no other folder. */
function install(folder: string): string[] {
  const enter = folder === "." ? [] : [`  cd ${shellWord(folder)}`];
  if (isCompiled()) return [...enter, "  npm install"];
  const tarball = `${PACKAGE_NAME.replace("@", "").replace("/", "-")}-${ARGOSY_VERSION}.tgz`;
  return [
    `  npm pack --pack-destination ${shellWord(folder)}`,
    ...enter,
    `  npm install ./${tarball}      commit the tarball too: no registry has the package of a clone`,
  ];
}

/** The repository that a folder is a part of, and not the top of. Undefined if there is none. */
function repositoryAbove(folder: string): string | undefined {
  const repository = foldersAbove(folder).find((place) => existsSync(path.join(place, ".git")));
  return repository === folder ? undefined : repository;
}

function workflowAdvice(place: string): string {
  return `GitHub reads workflows only from the top of the repository. Move ${place}/.github there, and name the folder in the workflow:
  defaults: { run: { working-directory: ${place} } }
  cache-dependency-path: ${place}/package-lock.json    of both actions/setup-node
  work-dir: ${place}    of pulumi/actions
`;
}

type TextFile = readonly [file: string, text: string];

/** A program that has operators gets no others: this folder is either written as a whole, or kept. */
const OPERATORS = "handlers/";

/**
 * The template's files, grouped by parts that are written or kept together. Each file is a part, and so are all operators
 * together.
 */
function templateParts(project: string): ReadonlyMap<string, readonly TextFile[]> {
  const parts = new Map<string, TextFile[]>();
  for (const each of templateFiles(project)) {
    const [file] = each;
    const part = file.startsWith(OPERATORS) ? OPERATORS : file;
    parts.set(part, [...(parts.get(part) ?? []), each]);
  }
  return parts;
}

/** The files of a new program, in the order of their names. */
function templateFiles(project: string): TextFile[] {
  const folder = assetPath("templates/typescript");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => isOfTemplate(path.join(folder, file)))
    .sort()
    .map((file) => {
      const name = unpackedName(file.split(path.sep).join("/"));
      const text = filledIn(readFileSync(path.join(folder, file), "utf8"), project);
      return [name, name === "Pulumi.yaml" ? withoutTemplate(text) : text];
    });
}

/** Python leaves compiled files next to a handler that has run. */
function isOfTemplate(file: string): boolean {
  return statSync(file).isFile() && !file.includes("__pycache__");
}

function unpackedName(file: string): string {
  const [name] = Object.entries(PACKED_NAMES).find(([, packed]) => file === packed) ?? [file];
  return name;
}

/** The placeholders in templates for the values that `pulumi new` asks for. */
const PROJECT = `$\{PROJECT}`;
const DESCRIPTION = `$\{DESCRIPTION}`;

function filledIn(text: string, project: string): string {
  return text
    .replaceAll(PROJECT, project)
    .replaceAll(DESCRIPTION, "Kubernetes operators from plain handler files.");
}

/** A Pulumi.yaml without the section that only a template has. */
function withoutTemplate(text: string): string {
  const document = parseDocument(text);
  document.delete("template");
  return document.toString();
}
