import { Sources } from "./sources";
import { code, sentence, table } from "./table";

const CONTRACT = `# Request and answer

Every key of a request to a handler and of its answers, in JSON. This page is generated from the types of the engine. [The contract](../contract.md) says what the engine and a handler promise each other, and [Refused answers](refused-answers.md) has the limits. No object has \`metadata.managedFields\`, and sizes count without it. Every answer of a program also has the \`id\` of its request.
`;

const FIXTURES = `# Fixtures

Every field of \`fixtures/*.yaml\`. This page is generated from the types of the command \`argosy test\`. [Testing](../testing.md) has examples. A document that has \`on\` tests [an event from outside](../events.md#tests), and one that has \`fuzz\` is for [\`argosy fuzz\`](../testing.md#look-for-bugs).
`;

/** The title of a part, and the interface of its keys. */
type Parts = Readonly<Record<string, string>>;

/** docs/reference/request-and-answer.md: every key of the contract. */
export function contractKeysPage(): string {
  const sources = new Sources(["runtime/handler/contract.ts"]);
  const parts: Parts = {
    Request: "HandlerRequest",
    "Answer to reconcile": "ReconcileAnswer",
    "Answer to finalize": "FinalizeAnswer",
    "error: an answer to either event": "FailureAnswer",
    "conditions[]": "AnsweredCondition",
    "events[]": "AnsweredEvent",
  };
  return [CONTRACT, ...sectionsOf(sources, parts, "key")].join("\n");
}

/** docs/reference/fixtures.md: every field of a fixture. */
export function fixturesPage(): string {
  const sources = new Sources(["cli/fixtures/fixture.ts", "cli/fixtures/fuzzing.ts"]);
  const parts: Parts = { Fixture: "Fixture", "steps[]": "FixtureStep", fuzz: "Fuzzing" };
  return [FIXTURES, ...sectionsOf(sources, parts, "field")].join("\n");
}

/** The fields of a fixture that its file does not contain. */
const NOT_IN_THE_FILE = ["name", "place"];

function sectionsOf(sources: Sources, parts: Parts, column: string): string[] {
  return Object.entries(parts).map(([title, name]) => {
    const members = sources.describe(name).members.filter((member) => !NOT_IN_THE_FILE.includes(member.name));
    const rows = members.map(({ name, type, isOptional, doc }) => [
      code(name),
      jsonType(type),
      isOptional || doc.default !== undefined ? "" : "required",
      [sentence(doc.text), doc.default !== undefined && `Default: ${doc.default}.`].filter(Boolean).join(" "),
    ]);
    return `## ${title}\n\n${table([column, "type", "", "meaning"], rows)}`;
  });
}

/** A type of TypeScript in the words of JSON. */
function jsonType(type: string): string {
  const plain = type.replace(" | undefined", "");
  if (plain.endsWith("[]")) return plain.includes('"') ? "string or list" : "list";
  const words = plain.split(" | ");
  if (words[0] === "boolean" && words.length > 1)
    return ["boolean", ...words.slice(1).map((word) => code(JSON.parse(word)))].join(", ");
  if (/^"|^true$/.test(plain)) return words.map(code).join(", ");
  if (["string", "number", "boolean"].includes(plain)) return plain;
  return plain === "HandlerEvent" || plain === "typeof CONTRACT_VERSION" ? "string" : "object";
}
