import { cpSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { stringify } from "yaml";
import { assetPath } from "../components/assets";
import { displayPath } from "../definition/problems";
import { devDependencies, name as packageName, version } from "../package.json";
import { CommandError, EXIT_CODES, UsageError } from "./commandError";
import { print } from "./terminal";

/** @see init */
export interface InitOptions {
  /** The Pulumi project's name. */
  readonly name?: string;
  readonly force?: true;
}

/**
 * `argosy init`: makes a program in an empty folder. It runs nothing and installs nothing.
 *
 * @throws CommandError where the folder is not empty; UsageError where a name is none
 */
export async function init(folder = ".", { name, force }: InitOptions): Promise<number> {
  const place = path.resolve(folder);
  const project = projectName(name, place);
  if (existsSync(place) && !statSync(place).isDirectory()) {
    throw new UsageError(`${displayPath(place)} is a file. Name a folder.`);
  }
  const others = existsSync(place) ? readdirSync(place).filter((each) => each !== ".git") : [];
  if (others.length > 0 && !force) {
    throw new CommandError(
      `${displayPath(place)} is not empty: it has ${others.slice(0, 3).join(", ")}${others.length > 3 ? " and more" : ""}. ` +
        "Name an empty folder. With --force, what is missing is added and what is there stays as it is.",
    );
  }
  const added = Object.entries(filesOf(project)).map(([file, content]) => addFile(place, file, content));
  added.push(addFolder(place, "handlers/memcached", assetPath("examples/memcached")));
  for (const line of added) print(line);
  print(instructions(folder));
  return EXIT_CODES.fine;
}

/** Of a name that npm and Pulumi both take. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/;

function projectName(given: string | undefined, folder: string): string {
  if (given !== undefined) {
    if (NAME.test(given)) return given;
    throw new UsageError(
      `--name ${given}: it must begin with a letter or a digit, and have only small letters, digits, ".", "_" and "-".`,
    );
  }
  const made = path
    .basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "");
  return NAME.test(made) ? made : "operators";
}

/** Writes a file, unless there is one. Gives what became of it. */
function addFile(place: string, file: string, content: string): string {
  const target = path.join(place, file);
  if (existsSync(target)) return `kept     ${file}`;
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, content);
  return `written  ${file}`;
}

/** Copies a folder, unless there is one. Gives what became of it. */
function addFolder(place: string, folder: string, from: string): string {
  const target = path.join(place, folder);
  if (existsSync(target)) return `kept     ${folder}/`;
  // What Python leaves beside a handler is of this machine.
  cpSync(from, target, { recursive: true, filter: (file) => path.basename(file) !== "__pycache__" });
  return `written  ${folder}/`;
}

function instructions(folder: string): string {
  const enter = folder === "." ? "" : `  cd ${folder}\n`;
  return `
Next:
${enter}  npm install
  npm test                   the handlers answer what their fixtures say
  npm run dev                run the operators on this machine
  pulumi stack init dev      then pulumi up, to deploy to the cluster of your kubeconfig
`;
}

/** The files of a program by their names, without its operators. */
function filesOf(project: string): Record<string, string> {
  const { typescript } = devDependencies;
  const sdk = (name: "@pulumi/kubernetes" | "@pulumi/pulumi") => `^${devDependencies[name]}`;
  const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`;
  return {
    "package.json": json({
      name: project,
      private: true,
      scripts: {
        test: "tsc && argosy test",
        dev: "argosy dev",
        render: "argosy render",
        verdict: "argosy verdict",
      },
      dependencies: {
        [packageName]: `^${version}`,
        "@pulumi/kubernetes": sdk("@pulumi/kubernetes"),
        "@pulumi/pulumi": sdk("@pulumi/pulumi"),
      },
      devDependencies: { "@types/node": `^${devDependencies["@types/node"]}`, typescript: `~${typescript}` },
    }),
    "tsconfig.json": json({
      compilerOptions: {
        target: "ES2022",
        module: "nodenext",
        moduleResolution: "nodenext",
        types: ["node"],
        strict: true,
        skipLibCheck: true,
        noEmit: true,
      },
      include: ["index.ts"],
    }),
    "Pulumi.yaml": stringify({
      name: project,
      description: "Operators for Kubernetes from plain handler files.",
      runtime: "nodejs",
      main: "index.ts",
    }),
    "Pulumi.dev.yaml": DEV_STACK,
    "index.ts": INDEX,
    ".gitignore": "node_modules/\n__pycache__/\n*.pyc\n",
    ".github/workflows/operators.yml": WORKFLOW,
  };
}

const INDEX = `import { Operators } from "${packageName}";

/** The operators of handlers/, and the parts of Argo that they run on. */
const operators = new Operators("operators", { handlers: "./handlers" });

/** The CustomResourceDefinitions that the cluster has now. */
export const customResources = operators.customResources;
`;

const DEV_STACK = `config: {}
# The cluster is that of your kubeconfig's current context. To name one that nobody can mistake:
#   kubernetes:context: my-cluster
`;

const WORKFLOW = `name: operators
on:
  pull_request:
  push:
    branches: [main]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
        with: { fetch-depth: 0 }
      - uses: actions/setup-node@v5
        with: { node-version: 22, cache: npm }
      - run: npm ci
      - run: npm test
      - run: npm run --silent render -- --stack dev --out "$RUNNER_TEMP/rendered"
      # Exit code 3: a change of a CRD breaks stored objects or clients.
      - if: github.event_name == 'pull_request'
        run: npm run --silent verdict -- "origin/$GITHUB_BASE_REF"

  # What a merge would change in the cluster, and the change itself after it. Pull requests of forks get no secrets.
  deploy:
    if: github.event_name == 'push' || github.event.pull_request.head.repo.full_name == github.repository
    needs: check
    runs-on: ubuntu-latest
    environment: \${{ github.event_name == 'push' && 'dev' || 'preview' }}
    concurrency: dev-\${{ github.event_name }}
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-node@v5
        with: { node-version: 22, cache: npm }
      - run: npm ci
      - run: |
          mkdir -p ~/.kube
          printf '%s' "$KUBECONFIG_TEXT" > ~/.kube/config
          chmod 600 ~/.kube/config
        env:
          KUBECONFIG_TEXT: \${{ secrets.KUBECONFIG }}
      - uses: pulumi/actions@v6
        with:
          command: \${{ github.event_name == 'push' && 'up' || 'preview' }}
          stack-name: dev
        env:
          PULUMI_ACCESS_TOKEN: \${{ secrets.PULUMI_ACCESS_TOKEN }}
`;
