import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { PolicyRule } from "../../../runtime/definition/definition";
import type { Manifest } from "../../../runtime/kubernetes/objects";
import { removeFolder } from "../operatorFolder";
import { KEPT_TITLES } from "../support/fuzz";
import { run, runStack } from "../support/program";
import { operatorsProgram, type Sample, sampleProgram } from "../support/sampleOperators";

const ROOT = path.resolve(__dirname, "../../..");
const document = readFileSync(path.join(ROOT, "docs/security.md"), "utf8");
const [promised = "", unpromised = ""] = document.split("## What is not promised");

const sources = readdirSync(path.join(ROOT, "tests"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => readFileSync(path.join(ROOT, "tests", file), "utf8"));

/** So much of a title must be written in the source. A title that is put together at run time could be any promise's. */
const LEAST_WRITTEN = 15;

/** Every title of a test, what is put into it at run time being anything. */
const patterns = sources
  .flatMap((source) => [...source.matchAll(/\b(?:it|fuzz)\(\s*(["'`])((?:(?!\1).)+)\1/g)])
  .map(([, , title = ""]) => title.split(/\$\{[^}]*\}/))
  .filter((parts) => parts.length === 1 || parts.join("").length >= LEAST_WRITTEN)
  .map((parts) => {
    const written = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${written.join(".+")}$`);
  });
/** Every text in a source: the titles of tests that are listed. */
const texts = new Set(
  sources.flatMap((source) => [...source.matchAll(/"((?:[^"\\\n]|\\.)+)"/g)].map(([, text]) => text)),
);
const isTitle = (title: string) => texts.has(title) || patterns.some((known) => known.test(title));

/** The rows of the document's tables of rights, table by table. */
const tables = [...unpromised.matchAll(/^\| account \|.*\n\| --- .*\n((?:\|.*\n)+)/gm)].map(([, rows = ""]) =>
  rows.trimEnd().split("\n"),
);

/** What each account may do, a row for each account and place. */
function rowsOf(manifests: readonly Manifest[]): string[] {
  const accounts = manifests.filter(({ kind }) => kind === "ServiceAccount");
  const rows = accounts.flatMap(({ metadata: { name } }) => {
    const places = new Map<string, string[]>();
    for (const binding of manifests) {
      if (!binding.kind.endsWith("RoleBinding")) continue;
      if (!(binding["subjects"] as { name: string }[]).some((subject) => subject.name === name)) continue;
      const place = binding.metadata.namespace ?? "everywhere";
      places.set(place, [...(places.get(place) ?? []), ...rightsOf(binding, manifests)]);
    }
    if (places.size === 0) return `| ${name} | nowhere | none |`;
    return [...places].map(([place, rights]) => `| ${name} | ${place} | ${rights.join("; ")} |`);
  });
  return rows.sort();
}

function rightsOf({ metadata: { namespace }, roleRef }: Manifest, manifests: readonly Manifest[]): string[] {
  const { kind: roleKind, name } = roleRef as { kind: string; name: string };
  const role = manifests.find(
    ({ kind, metadata }) => kind === roleKind && metadata.name === name && metadata.namespace === namespace,
  );
  assert.ok(role, `${roleKind} ${name}`);
  return (role["rules"] as PolicyRule[]).map(
    ({ resources, verbs, resourceNames }) =>
      `${resources.join(", ")}: ${verbs.join(", ")}${resourceNames ? ` (${resourceNames.join(", ")} only)` : ""}`,
  );
}

describe("docs/security.md", function () {
  this.timeout(120_000);

  it("names for each promise a test that there is", () => {
    const promises = promised.split(/^- /m).slice(1);
    assert.ok(promises.length > 25, `only ${promises.length} promises`);
    for (const promise of promises) {
      const named = [...promise.matchAll(/^ {2}Test: (.+)$/gm)].map(([, title = ""]) => title);
      assert.ok(named.length > 0, `no test of: ${promise}`);
    }
    const all = [...document.matchAll(/^(?: {2})?Test: (.+)$/gm)].map(([, title = ""]) => title);
    assert.deepEqual(
      all.filter((title) => !isTitle(title)),
      [],
    );
    assert.equal(isTitle(["a title that no test has", "whatever is put into it"].join(", ")), false);
  });

  for (const stack of ["dev", "prod"]) {
    it(`tells every right that an account of the ${stack} stack has, and no other`, async () => {
      const { manifests } = await runStack(stack);
      assert.deepEqual(tables[0], rowsOf(manifests));
    });
  }

  it("tells every right that an operator with pods and rules has, and no other", async () => {
    const rules = [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["get", "list"] }];
    const sample = sampleProgram([{ name: "press", execution: "pod", rules }]);
    try {
      const { manifests } = await run(operatorsProgram(sample));
      const rows = rowsOf(manifests).filter((row) => !tables[0]?.includes(row));
      const others = rows.filter((row) => !/^\| (press-\w+|argosy-sensor|argosy-event-source) /.test(row));
      assert.deepEqual(others, []);
      assert.deepEqual(tables[1], rows);
    } finally {
      removeFolder(sample.root);
    }
  });

  it("tells every right that there is with events from outside, and no other", async () => {
    const webhook = {
      endpoint: "/press",
      method: "POST",
      port: "12000",
      authSecret: { name: "a", key: "b" },
    };
    const create = { kind: "Press", namespace: "team-a", spec: {} };
    const sample = sampleProgram([
      { name: "press", on: { order: { webhook, id: ["body.id"], create } } },
    ] as readonly Sample[]);
    try {
      const { manifests } = await run(operatorsProgram(sample, { outsideEvents: { storage: "1Gi" } }));
      const rows = rowsOf(manifests).filter((row) => row.startsWith("| argosy-outside-"));
      assert.deepEqual(tables[2], rows);
    } finally {
      removeFolder(sample.root);
    }
  });

  it("is backed by counterexamples under titles that there are", () => {
    assert.ok(KEPT_TITLES.length > 0);
    assert.deepEqual(
      KEPT_TITLES.filter((title) => !isTitle(title)),
      [],
    );
  });
});
