import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_FOLDER } from "../packageFolder";

const TESTS = path.join(PACKAGE_FOLDER, "tests");
/** So much of a title must be written in the source. A title that is put together at run time could be any promise's. */
const LEAST_WRITTEN = 15;

/** A part of docs/security.md, with its promises: the items of its lists. */
interface Part {
  readonly title: string;
  readonly promises: readonly string[];
}

/** For each part of docs/security.md, the titles of tests by the words with which the promise begins. */
type Kept = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

const INTRODUCTION = `# Security tests

The promises of [Security](../security.md), each with the tests that play its enemy. This page is generated from the promises and the titles of the tests. \`npm test\` runs all of them except those of [the e2e](../../tests/e2e/guards.test.ts). With \`ARGOSY_FUZZ_RUNS\`, the tests called "fuzz" try thousands of inputs.
`;

/** Whether there is a test of this title. What is put into a title at run time may be anything. */
export function testFinder(): (title: string) => boolean {
  const sources = readdirSync(TESTS, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => readFileSync(path.join(TESTS, file), "utf8"));
  const patterns = sources
    .flatMap((source) => [...source.matchAll(/\b(?:it|fuzz)\(\s*(["'`])((?:(?!\1).)+)\1/g)])
    .map(([, , title = ""]) => title.split(/\$\{[^}]*\}/))
    .filter((parts) => parts.length === 1 || parts.join("").length >= LEAST_WRITTEN)
    .map((parts) => {
      const written = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
      return new RegExp(`^${written.join(".+")}$`);
    });
  // Titles that are listed.
  const texts = new Set(
    sources.flatMap((source) => [...source.matchAll(/"((?:[^"\\\n]|\\.)+)"/g)].map(([, text]) => text)),
  );
  return (title) => texts.has(title) || patterns.some((known) => known.test(title));
}

/**
 * docs/reference/security-tests.md: each promise of docs/security.md with its tests.
 * @throws Error that names what does not fit: a promise without a test, or a test that there is not
 */
export function securityTestsPage(): string {
  const kept = JSON.parse(readFileSync(path.join(TESTS, "unit/security/promises.json"), "utf8")) as Kept;
  const parts = partsOf(readFileSync(path.join(PACKAGE_FOLDER, "docs/security.md"), "utf8"));
  const isTest = testFinder();
  const sections = parts.map(({ title, promises }) => {
    const unused = new Map(Object.entries(kept[title] ?? {}));
    const items = promises.map((promise) => {
      const [beginning, tests = []] = [...unused].find(([words]) => promise.startsWith(words)) ?? [""];
      unused.delete(beginning);
      const missing = tests.filter((test) => !isTest(test));
      if (tests.length === 0 || missing.length > 0)
        throw new Error(
          `tests/unit/security/promises.json has no test of "${promise}": ${missing.join(", ")}`,
        );
      const lines = tests.map((test) => `  - ${test}\n`);
      return `- ${promise.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")}\n${lines.join("")}`;
    });
    if (unused.size > 0)
      throw new Error(`docs/security.md has no promise "${[...unused.keys()].join('", "')}"`);
    return `## ${title}\n\n${items.join("")}`;
  });
  return [INTRODUCTION, ...sections].join("\n");
}

/** The parts that promise something. */
function partsOf(page: string): Part[] {
  const [promised = ""] = page.split("## What is not promised");
  return promised
    .split(/^#{2,3} /m)
    .slice(1)
    .map((part) => ({
      title: part.split("\n")[0] ?? "",
      promises: [...part.matchAll(/^- (.*(?:\n {2}.*)*)/gm)].map(([, text = ""]) =>
        text.replace(/\s+/g, " "),
      ),
    }))
    .filter(({ promises }) => promises.length > 0);
}
