// What a release says of what it is made of: `tsx tools/sbom.ts FOLDER`.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { compiled } from "./build";
import { sboms } from "./build/sbom";

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write("usage: tsx tools/sbom.ts FOLDER\n");
  process.exitCode = 2;
} else {
  for (const [file, sbom] of Object.entries(sboms(compiled())))
    writeFileSync(path.join(folder, file), `${JSON.stringify(sbom, undefined, 2)}\n`);
}
