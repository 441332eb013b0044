import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { FIXTURE } from "../../cli/fixtures/fixture";
import { localHandler } from "../../cli/handler/localHandler";
import { check } from "../../definition/checks";
import { Problems } from "../../definition/problems";
import { DEFINITION } from "../../definition/schema";
import type { HandlerQuestion } from "../../runtime/handler/contract";
import { HandlerPool } from "../../runtime/handler/handlerPool";
import { parseAnswer, readAnswerLine } from "../../runtime/handler/parseAnswer";
import { GENERATED } from "../../tools/reference";
import { isReleased, PARTS, releasedPage } from "../../tools/reference/released";
import { temporaryFolder } from "../support/temporaryFolder";
import type { CodeBlock } from "./support/codeBlocks";
import { filesIn } from "./support/filesIn";
import { assertEach, assertNone } from "./support/lists";
import { anchorsOf, codeIn } from "./support/markdown";
import { BLOCKS, blocksFor, PAGES } from "./support/pages";

const root = path.join(__dirname, "..", "..");

describe("the documentation", () => {
  describe("has handlers that answer the request that it shows", () => {
    const request = BLOCKS.find(({ role }) => role === "request");
    const extensions: Record<string, string> = { python: "py", js: "js", ts: "ts" };
    for (const { place, language, code, role } of BLOCKS) {
      if (role !== "handler" && role !== "function") continue;
      it(place, async () => {
        assert.ok(request);
        const file = `main.${extensions[language]}`;
        const answer = parseAnswer(await answerOf(file, code, role, JSON.parse(request.code)), "reconcile");
        assert.ok("children" in answer);
        assert.deepEqual(answer.children[0]?.metadata, { name: "hello" });
        assert.deepEqual(answer.children[0]?.["data"], { greeting: "Hello" });
      });
    }
  });

  describe("has recipes whose functions give an answer that the engine accepts", () => {
    const request = BLOCKS.find(({ role }) => role === "request");
    for (const { place, code } of BLOCKS.filter(({ role }) => role === "recipe")) {
      it(place, async () => {
        assert.ok(request);
        const answer = await answerOf("main.py", code, "function", JSON.parse(request.code));
        assert.doesNotThrow(() => parseAnswer(answer, "reconcile"));
      });
    }
  });

  it("in Python can be parsed", () => {
    const codes = blocksFor("python").map(({ place, code }) => [place, code]);
    assert.ok(codes.length > 10);
    const program = "import ast, json, sys\nfor place, code in json.load(sys.stdin): ast.parse(code, place)";
    execFileSync("python3", ["-c", program], { input: JSON.stringify(codes) });
  });

  describe("shows answers that the engine accepts", () => {
    for (const { place, code } of BLOCKS.filter(({ role }) => role === "answer")) {
      it(place, () => {
        const { id, answer } = readAnswerLine(code);
        assert.equal(typeof id, "string");
        assert.doesNotThrow(() => parseAnswer(answer, "finalized" in answer ? "finalize" : "reconcile"));
      });
    }
  });

  describe("has well-formed YAML", () => {
    for (const { place, code } of blocksFor("yaml")) {
      it(place, () => {
        for (const document of parseAllDocuments(code)) assert.deepEqual(document.errors, []);
      });
    }
  });

  describe("shows definitions of operators that are in order", () => {
    for (const { place, code } of blocksFor("yaml").filter(isDefinition)) {
      it(place, () => {
        const problems = new Problems();
        check(DEFINITION, parse(code), problems.at(place));
        assert.equal(problems.toError().message, "");
      });
    }

    it("which are told from other YAML", () => {
      assert.ok(BLOCKS.some(isDefinition));
      const unmarked = blocksFor("yaml").filter((block) => {
        const keys = Object.keys(parseAllDocuments(block.code)[0]?.toJS() ?? {});
        return !isDefinition(block) && ["crd", "handler", "children"].some((key) => keys.includes(key));
      });
      assert.deepEqual(unmarked, []);
    });
  });

  describe("shows fixtures that are in order", () => {
    for (const { place, code } of BLOCKS.filter(({ role }) => role === "fixture")) {
      it(place, () => {
        const problems = new Problems();
        check(FIXTURE, parse(code), problems.at(place));
        assert.equal(problems.toError().message, "");
      });
    }

    it("on its page, in every form", () => {
      const shown = BLOCKS.filter(
        ({ role, place }) => role === "fixture" && place.startsWith("docs/testing.md"),
      );
      const keys = shown.flatMap(({ code }) => Object.keys(parse(code)));
      for (const key of ["answer", "expect", "steps"]) assert.ok(keys.includes(key), key);
    });
  });

  describe("has as it is made from the sources", () => {
    for (const [page, text] of Object.entries(GENERATED)) {
      it(page, () => {
        const written = existsSync(path.join(root, page)) && readFileSync(path.join(root, page), "utf8");
        assert.equal(written, text(), "npm run reference writes it");
      });
    }
  });

  it("says that nothing is released exactly as long as no section of the changelog has a date", () => {
    assert.deepEqual(
      ["## 0.1.0 (unreleased)\n", "## 0.2.0 (unreleased)\n\n## 0.1.0 (2026-12-01)\n"].map(isReleased),
      [false, true],
    );
    const waiting =
      /not (yet )?(published|released)|(published|released) yet|until version|once it is published/i;
    const pages = PAGES.filter((page) => page !== "CHANGELOG.md" && !page.startsWith("tools/"));
    const saying = pages.filter((page) => waiting.test(readFileSync(path.join(root, page), "utf8")));
    assertNone(saying, (page) => !(page in PARTS));
    for (const page of Object.keys(PARTS)) {
      assert.match(releasedPage(page, false), waiting);
      assert.doesNotMatch(releasedPage(page, true), waiting);
    }
  });

  it("names only npm scripts that exist", () => {
    const { scripts } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const named = PAGES.flatMap((document) => {
      const code = codeIn(readFileSync(path.join(root, document), "utf8"));
      return [...code.matchAll(/\bnpm (?:run )?(?:--silent )?([a-z0-9-]+)/g)].map((match) => ({
        document,
        script: match[1] ?? "",
      }));
    });
    const npmCommands = ["ci", "install", "audit", "pack"];
    const unknown = named.filter(({ script }) => !(script in scripts) && !npmCommands.includes(script));
    assert.ok(named.length > 0);
    assert.deepEqual(unknown, []);
  });

  it("has the headings to which messages lead, since the package does not contain the pages", () => {
    const addresses = MESSAGES.flatMap((file) => {
      const text = readFileSync(path.join(root, file), "utf8");
      return [
        ...text.matchAll(/https:\/\/github\.com\/argosy-dev\/argosy\/blob\/main\/(\S+?\.md)(?:#([\w-]+))?/g),
      ];
    });
    assert.ok(addresses.length > 4);
    const broken = addresses.filter(([, page = "", anchor]) => {
      const file = path.join(root, page);
      if (!existsSync(file)) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(file, "utf8")).has(anchor);
    });
    assertEach(broken, ([address]) => address, []);
    const pages = MESSAGES.filter((file) =>
      /["'` ]docs\/[\w-]+\.md/.test(withoutComments(readFileSync(path.join(root, file), "utf8"))),
    );
    assert.deepEqual(pages, [], "a message names a page by its path");
  });

  it("has a page of at most 60 lines for each design, with the modules and tests that keep it", () => {
    const contents = readFileSync(path.join(root, "designs/README.md"), "utf8");
    const designs = PAGES.filter((page) => /^designs\/(?!README)/.test(page));
    assert.ok(designs.length > 5);
    for (const page of designs) {
      const text = readFileSync(path.join(root, page), "utf8");
      assert.ok(contents.includes(`(${path.basename(page)})`), page);
      assert.ok(text.split("\n").length <= 61, page);
      assert.deepEqual(text.match(/^## .*$/gm)?.join(), DESIGN, page);
      assert.match(text, /## Kept by.*\]\(\.\.\/(?:runtime|components)\/.*\]\(\.\.\/tests\//s, page);
    }
  });

  it("is read in two hours or three: 35,000 words by hand, code included, and 2,500 on a page", () => {
    const lengths = PAGES.filter((page) => /^(README|docs\/(?!README|reference\/).*)\.md$/.test(page)).map(
      (page) => [page, readFileSync(path.join(root, page), "utf8").trim().split(/\s+/).length] as const,
    );
    assertNone(lengths, ([, words]) => words > 2_500);
    const all = lengths.reduce((sum, [, words]) => sum + words, 0);
    assert.ok(all <= 35_000, `${all} words`);
  });
});

/** The sections of a page of designs/. */
const DESIGN = "## Background,## Goals,## Non-goals,## Decision,## Alternatives,## Kept by";

/** The sources whose texts users read. */
const MESSAGES = ["cli", "components", "definition", "preflight", "runtime"].flatMap((folder) =>
  filesIn(path.join(root, folder))
    .filter((file) => file.endsWith(".ts"))
    .map((file) => path.join(folder, file)),
);

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

function isDefinition({ role }: CodeBlock): boolean {
  return role === "operator";
}

async function answerOf(file: string, code: string, role: string, request: { id: string } & HandlerQuestion) {
  const folder = temporaryFolder();
  const { id: _, ...question } = request;
  const image = "a:1";
  const command = [file.endsWith(".py") ? "python3" : "node", file];
  const handler = role === "function" ? { image, function: file } : { image, command };
  const pool = new HandlerPool({ transport: localHandler({ handler, folder }, {}), timeoutMs: 20_000 });
  try {
    writeFileSync(path.join(folder, file), code);
    return (await pool.ask(question)).answer;
  } finally {
    await pool.close();
  }
}
