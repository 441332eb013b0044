import type { Described, Member } from "./sources";
import { Sources } from "./sources";
import { code, sentence, table } from "./table";

/** Where the components, their arguments and outputs are declared. */
const FILES: readonly string[] = [
  "arguments/arguments",
  "operators",
  "argoPlatform",
  "deployedOperator",
  "eventPath",
  "manifests/platform/options",
].map((file) => `components/${file}.ts`);

const COMPONENTS = [
  { name: "Operators", args: "OperatorsArgs" },
  { name: "ArgoPlatform", args: "ArgoPlatformArgs" },
];

/** The types of the outputs, in addition to the components themselves. */
const OUTPUTS = ["DeployedOperator", "EventPath", "Platform"];

const INTRODUCTION = `# Components

The components that \`@argosy-dev/argosy\` gives a Pulumi program in TypeScript or JavaScript. This page is generated from the comments in the sources, which editors show as well. Programs in other languages have the same arguments: see
[Argosy for every language](../../plugin/README.md).

\`Input<T>\` is a value, or an Output of another resource. Wrong arguments are refused by their names before anything is registered. \`configuredOperators(name, args)\` creates \`Operators\` as the stack's [configuration](../configuration.md) says. [Handlers](../tasks/override-for-a-stack.md) explains overrides. [Customize](../customize.md) explains images, sizes, pods and transforms.
`;

/** docs/reference/components.md: components, arguments and outputs, from their TSDoc. */
export function componentsPage(): string {
  const sources = new Sources(FILES);
  const components = COMPONENTS.map(({ name, args }) => {
    const component = sources.describe(name);
    return [
      heading(component),
      ...component.doc.examples.map((example) => exampleOf(example)),
      `### Arguments of ${name}\n\n${argumentTable(sources, sources.describe(args))}`,
      `### Outputs of ${name}\n\n${outputTable(sources, component)}`,
    ].join("\n");
  });
  const types = argumentTypes(sources).map((name) => {
    const described = sources.describe(name);
    return `${heading(described)}\n${argumentTable(sources, described)}`;
  });
  const outputs = OUTPUTS.map((name) => {
    const described = sources.describe(name);
    return `${heading(described)}\n${outputTable(sources, described)}`;
  });
  return [INTRODUCTION, ...components, ...types, ...outputs].join("\n");
}

function heading({ name, doc }: Described): string {
  return `## ${name}\n\n${doc.text}\n`;
}

/** An example of TSDoc: a title if there is one, and a block of code. */
function exampleOf(example: string): string {
  const [, title = "", block = example] = /^([^`]*)(```[\s\S]*```)$/.exec(example) ?? [];
  return title === "" ? `${block}\n` : `${sentence(title.trim()).replace(/\.$/, ":")}\n\n${block}\n`;
}

function argumentTable(sources: Sources, { members }: Described): string {
  const rows = members.map((member) => [
    code(member.name),
    typeOf(sources, member),
    [member.doc.text, member.isOptional ? defaultOf(member) : "Required."].filter(Boolean).join(" "),
  ]);
  return table(["argument", "type", "meaning"], rows);
}

function defaultOf({ doc }: Member): string {
  const text = doc.default ?? "";
  return text === "" ? "" : `Default: ${/^["[{\d]|^(true|false)$/.test(text) ? code(text) : text}.`;
}

function outputTable(sources: Sources, { members }: Described): string {
  const rows = members.map((member) => [code(member.name), typeOf(sources, member), member.doc.text]);
  return table(["output", "type", "meaning"], rows);
}

/** A type, with a link to a part of the page that describes it. */
function typeOf(sources: Sources, { type }: Member): string {
  const described = [...argumentTypes(sources), ...OUTPUTS, ...COMPONENTS.map(({ name }) => name)];
  const named = described.find((name) => new RegExp(`\\b${name}\\b`).test(type));
  return named ? `[${code(type)}](#${named.toLowerCase()})` : code(type);
}

/** The interfaces of the components' arguments, in the order in which they are named. */
function argumentTypes(sources: Sources): string[] {
  const found: string[] = [];
  const visit = (name: string) => {
    for (const { type } of sources.describe(name).members) {
      for (const [word] of type.matchAll(/\b[A-Z]\w+\b/g)) {
        const isOther = COMPONENTS.some(({ args }) => args === word) || OUTPUTS.includes(word);
        if (!sources.has(word) || isOther || found.includes(word) || word === "PlatformComponent") continue;
        found.push(word);
        visit(word);
      }
    }
  };
  for (const { args } of COMPONENTS) visit(args);
  return found;
}
