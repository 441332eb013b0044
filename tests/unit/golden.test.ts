import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { formatStream } from "../../cli/render/output";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { runStack } from "./support/program";

const FOLDER = path.resolve(__dirname, "../golden");

/**
 * Every object of both stacks as a reviewer reads it. After a change that is meant:
 * UPDATE_GOLDEN=1 npm test -- --grep golden
 */
describe("the golden files", () => {
  for (const stack of ["dev", "prod"]) {
    it(`show what ${stack} is made of`, async () => {
      const { manifests } = await runStack(stack);
      const rendered = formatStream(manifests.map(withoutEngine));
      const file = path.join(FOLDER, `${stack}.yaml`);
      if (process.env.UPDATE_GOLDEN) writeFileSync(file, rendered);
      assert.ok(existsSync(file), `${file} is missing: UPDATE_GOLDEN=1 writes it`);
      const hint = "UPDATE_GOLDEN=1 npm test -- --grep golden writes it anew; read the difference.";
      assert.equal(rendered, readFileSync(file, "utf8"), hint);
    });
  }
});

/** The engine is a quarter of a megabyte of minified code, which changes with every line of runtime/. */
function withoutEngine(manifest: Manifest): Manifest {
  const text = JSON.stringify(manifest).replace(/argosy-engine-[0-9a-f]+/g, "argosy-engine-HASH");
  const copy = JSON.parse(text) as Manifest;
  if (!copy.metadata.name.startsWith("argosy-engine")) return copy;
  const names = Object.keys(copy.data as object);
  return { ...copy, data: Object.fromEntries(names.map((name) => [name, "..."])) };
}
