import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { packagesOf } from "./packagesOf";

/**
 * The licences of the packages in a bundle, as one text.
 *
 * @param inputs - files of the bundle, relative to the folder
 * @throws Error for a package without the text of its licence
 */
export function licencesOf(inputs: readonly string[], folder: string): string {
  const texts = packagesOf(inputs).map((each) => licenceOf(path.join(folder, each)));
  return ["Argosy's compiled files contain these packages.\n", ...texts].join(`\n${"-".repeat(80)}\n\n`);
}

function licenceOf(folder: string): string {
  const manifest = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((name) => /^licen[cs]e(\.\w+)?$/i.test(name));
  if (!file) throw new Error(`${manifest.name} has no file with its licence. It cannot be bundled.`);
  const text = readFileSync(path.join(folder, file), "utf8").trim();
  return `${manifest.name} ${manifest.version.replace(/^v/, "")} (${manifest.license})\n\n${text}\n`;
}
