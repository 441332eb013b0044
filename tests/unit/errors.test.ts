import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { THINGS } from "../../cli/add/entries";
import { commands } from "../../cli/argosy";
import { FORESEEN_ERRORS } from "../../cli/common/commandError";
import { CODES, DRY_RUN_REFUSED, entryOf } from "../../cli/errors/catalogue";
import { FAILURE_REASONS, WARNING_REASONS } from "../../runtime/base/failure";
import { assertEach, assertNone } from "./support/lists";
import { runArgosy } from "./support/runArgosy";

const ROOT = path.join(__dirname, "..", "..");
/** Reasons that are no error: of what went well, and the API server's own. */
const NO_ERROR = [
  "Reconciled",
  "Conflict",
  "AlreadyExists",
  "Timeout",
  "FieldValueForbidden",
  "Progressing",
  "Retrying",
  "AwaitingPod",
  "ProgressDeadlineExceeded",
];

/** Every reason that stands in the engine's sources as a constant. */
function reasonsInSources(): string[] {
  const files = readdirSync(path.join(ROOT, "runtime"), { recursive: true, encoding: "utf8" });
  const patterns = [
    /\breason(?: ===|:) "([A-Z][A-Za-z]+)"/g,
    /\bstate\("\w+", "\w+", "(\w+)"/g,
    /\btell\([^"]*,\s*"([A-Z]\w+)"/g,
    /\bReconcileFailure\(\s*"(\w+)"/g,
  ];
  return files
    .filter((file) => file.endsWith(".ts"))
    .map((file) => readFileSync(path.join(ROOT, "runtime", file), "utf8"))
    .flatMap((text) =>
      patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, word = ""]) => word)),
    );
}

describe("the catalogue of errors", () => {
  it("has every reason of the engine's types and of its sources, and every error of a command", () => {
    const inSources = reasonsInSources();
    // The patterns find something: else nothing would be compared.
    for (const reason of WARNING_REASONS) assert.ok(inSources.includes(reason), reason);
    const named = [...FAILURE_REASONS, ...WARNING_REASONS, ...FORESEEN_ERRORS, DRY_RUN_REFUSED];
    const reasons = [...named, ...inSources];
    const wanted = new Set(reasons.filter((reason) => !NO_ERROR.includes(reason)));
    assertNone([...wanted], (reason) => !entryOf(reason));
    assert.deepEqual([...CODES].sort(), [...wanted].sort());
  });

  it("says of each in whole sentences what happened, where to look and what to do", () => {
    for (const code of CODES) {
      const { happened = "", look = "", remedy = "" } = entryOf(code) ?? {};
      for (const text of [happened, look, remedy]) assert.match(text, /^[a-zA-Z~.].*\.$/, code);
    }
  });

  it("names only commands that exist, and with add only what can be added", () => {
    const known = commands().map(({ name }) => name);
    const named = CODES.flatMap((code) => {
      const { look = "", remedy = "" } = entryOf(code) ?? {};
      return [...`${look} ${remedy}`.matchAll(/\bargosy ([a-z]+)(?: ([a-zA-Z]+))?/g)].map((found) => [
        code,
        ...found,
      ]);
    });
    for (const [code, text, command = "", word = ""] of named) {
      assert.ok(known.includes(command), `${code}: ${text}`);
      if (command === "add") assert.ok(Object.hasOwn(THINGS, word), `${code}: ${text}`);
    }
    const codesNaming = (command: string) =>
      named.flatMap(([code, , each, word]) => (command === `${each} ${word}` ? [code] : []));
    assert.deepEqual(codesNaming("add child"), ["InvalidAnswer"]);
    assert.deepEqual(codesNaming("add grant"), ["ChildRefused"]);
  });
});

describe("argosy errors", () => {
  it("prints what happened, where to look and what to do, of a code in any letters", async () => {
    const { result, stdout } = await runArgosy("errors", "childrefused");
    assert.equal(result, 0);
    assert.match(stdout, /^ChildRefused\n {2}what happened\n {4}The API server refused a child\. .*\n/);
    assert.match(stdout, /where to look\n {4}\S.*\n {2}what to do\n {4}\S/);
  });

  it("lists all codes", async () => {
    const { stdout } = await runArgosy("errors");
    for (const code of CODES) assert.match(stdout, new RegExp(`^  ${code} `, "m"));
    const { stdout: json } = await runArgosy("errors", "--json");
    const lines = json.trim().split("\n");
    assertEach(lines, (line) => JSON.parse(line).code, CODES);
  });

  it("refuses a word that is no code, with the one that was likely meant", async () => {
    const near = await runArgosy("errors", "ChildRefusd");
    assert.equal(near.result, 2);
    assert.match(near.stderr, /^There is no code ChildRefusd\. Did you mean ChildRefused\?/);
    const far = await runArgosy("errors", "Quux");
    assert.match(far.stderr, /argosy errors lists all codes/);
  });
});
