import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { pictures } from "../../tools/pictures";
import { navigation } from "../../tools/reference/contents";
import { anchorOf, plainFileOf } from "../../tools/site/links";
import { plainPage } from "../../tools/site/llms";
import { assertEach } from "./support/lists";
import { anchorsOf, linksOf, prose } from "./support/markdown";

const ROOT = path.resolve(__dirname, "../..");
const DOCS = path.join(ROOT, "docs");

const pages = readdirSync(DOCS, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".md"))
  .sort();
const documents = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md"], {
  cwd: ROOT,
  encoding: "utf8",
})
  .trim()
  .split("\n")
  // The operators of people who use this repository have pages of their own.
  .filter((file) => existsSync(path.join(ROOT, file)) && !file.startsWith("handlers/"));

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), "utf8");
}

describe("the pages of docs/", () => {
  it("are each once in the navigation, and nothing else is", () => {
    const listed = navigation().flatMap((section) => section.pages.map(({ file }) => file));
    assert.ok(pages.length > 10);
    assert.deepEqual([...listed, "README.md"].sort(), pages);
  });

  it("are summed up for the navigation: half a sentence each", () => {
    for (const { file, title, summary } of navigation().flatMap((section) => section.pages)) {
      assert.match(title, /^[A-Zo].{2,40}$/, file);
      assert.match(summary, /^[^A-Z ]?.{15,110}[^.]$/, file);
    }
  });

  it("name the page in each link to it, not its file", () => {
    const named = documents
      .filter((file) => /^(docs|examples)\/|^README/.test(file))
      .flatMap((file) =>
        [...prose(read(file)).matchAll(/\[([\w./-]+\.md)\]\(/g)].map(([, name]) => `${file}: ${name}`),
      );
    assert.deepEqual(named, []);
  });

  it("have code in fences with a language, since only those have a scrolling box on a small screen", () => {
    const others = documents
      .filter((file) => /^(docs|examples)\/|^README/.test(file))
      .flatMap((file) =>
        read(file)
          .replace(/^( *)```[\w]+[^\n]*\n[\s\S]*?^\1```$/gm, "")
          .split("\n\n")
          .filter((block) => /^( {4}|\t| *```)/.test(block))
          .map((block) => `${file}: ${block}`),
      );
    assert.deepEqual(others, []);
  });

  it("have one title each", () => {
    for (const file of pages) assert.equal(prose(read(`docs/${file}`)).match(/^# .+$/gm)?.length, 1, file);
  });
});

describe("the links of all pages", () => {
  const links = documents.flatMap((document) =>
    linksOf(read(document))
      .filter(({ target }) => !/^[a-z]+:/.test(target))
      .map(({ target, line }) => ({ document, target, place: `${document}:${line}: ${target}` })),
  );

  it("lead to headings that there are", () => {
    const anchored = links.filter(({ target }) => target.includes("#") && !/\.svg#/.test(target));
    assert.ok(anchored.length > 40);
    const broken = anchored.filter(({ document, target }) => {
      const [file = "", anchor = ""] = target.split("#");
      const page = file === "" ? document : path.join(path.dirname(document), file);
      return !existsSync(path.join(ROOT, page)) || !anchorsOf(read(page)).has(anchor);
    });
    assertEach(broken, ({ place }) => place, []);
  });

  it("lead to files that git has", () => {
    const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], {
      cwd: ROOT,
      encoding: "utf8",
    }).split("\n");
    const broken = links.filter(({ document, target }) => {
      const [file = ""] = target.split("#");
      if (file === "") return false;
      const place = path.join(path.dirname(document), file).replace(/\/$/, "");
      return !files.some((each) => each === place || each.startsWith(`${place}/`));
    });
    assertEach(broken, ({ place }) => place, []);
  });

  it("that lead from a page of docs/ to a folder's page of it name the file, as the site needs it", () => {
    const folders = links.filter(({ document, target }) => {
      const place = path.join(path.dirname(document), target.split("#")[0] ?? "");
      return (
        document.startsWith("docs/") && place.startsWith("docs") && !path.extname(place) && target[0] !== "#"
      );
    });
    assert.deepEqual(folders, []);
  });
});

describe("the pictures", () => {
  for (const [file, text] of pictures()) {
    it(`${file} is as it is drawn`, () => assert.equal(read(file), text, "npm run pictures draws it"));
  }
});

describe("the site", () => {
  it("has the anchors of GitHub", () => {
    assert.equal(anchorOf("Try again, replay, try out"), "try-again-replay-try-out");
    assert.equal(anchorOf("Another program's objects"), "another-programs-objects");
    assert.equal(anchorOf("1. Process"), "1-process");
    assert.equal(anchorOf("`a_b` and Ärger"), "a_b-and-ärger");
  });

  describe("has for programs that read it", () => {
    const built = documents.flatMap((file) => plainFileOf(file) ?? []);
    const addresses = (text: string) => linksOf(text).map(({ target }) => target.split("#")[0] ?? "");

    it("its pages as Markdown, whose links lead to each other, or to GitHub", () => {
      assert.ok(built.length > 60);
      const broken = documents
        .filter((file) => plainFileOf(file) !== undefined)
        .flatMap((file) => addresses(plainPage(file, read(file), "/argosy/")))
        .filter((address) => !/^([a-z]+:|$)/.test(address))
        .filter((address) => !built.includes(address.replace("/argosy/", "")));
      assert.deepEqual(broken, []);
      const page = plainPage("docs/tasks/rename.md", "[a](../uses.md#b)\n```sh\n[a](../uses.md)\n```\n", "/");
      assert.equal(page, "[a](/uses.md#b)\n```sh\n[a](../uses.md)\n```\n");
    });
  });

  it("is installed apart from Argosy", () => {
    const root = JSON.parse(read("package-lock.json")) as { packages: Record<string, unknown> };
    assert.equal(root.packages["node_modules/vitepress"], undefined);
    const { devDependencies } = JSON.parse(read("tools/site/package.json"));
    const lock = JSON.parse(read("tools/site/package-lock.json"));
    for (const [name, version] of Object.entries<string>(devDependencies)) {
      assert.match(version, /^\d+\.\d+\.\d+$/, name);
      assert.equal(lock.packages[`node_modules/${name}`].version, version, name);
    }
  });
});
