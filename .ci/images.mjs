// Resolves every image that Argosy names to its digest, into a folder: node .ci/images.mjs <folder>
//   images.json   by the images' names, as the argument and the key `images` take them
//   images.txt    the references with their digests: for a scan, and for a mirror
// Fails if an image is not there, or not for every platform. Needs crane, which asks the registries.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const PLATFORMS = ["linux/amd64", "linux/arm64"];

const [folder] = process.argv.slice(2);
if (!folder) fail("usage: node .ci/images.mjs FOLDER");
const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const run = (command, ...args) =>
  execFileSync(command, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });

const named = run(process.execPath, "--import=tsx", "--conditions=@argosy-dev/source", "tools/images.ts")
  .toString()
  .trim();
const images = named.split("\n").map((line) => {
  const [name, image] = line.split(" ");
  // A digest is the hash of these bytes, whatever the registry says it is.
  const manifest = run("crane", "manifest", image);
  const found = (JSON.parse(manifest).manifests ?? []).map(
    ({ platform }) => `${platform?.os}/${platform?.architecture}`,
  );
  const missing = PLATFORMS.filter((platform) => !found.includes(platform));
  if (missing.length > 0) fail(`${image} is not there for ${missing.join(" and ")}.`);
  return { name, image, digest: `sha256:${createHash("sha256").update(manifest).digest("hex")}` };
});
mkdirSync(folder, { recursive: true });
const byName = Object.fromEntries(images.map(({ name, digest }) => [name, `@${digest}`]));
writeFileSync(path.join(folder, "images.json"), `${JSON.stringify(byName, undefined, 2)}\n`);
writeFileSync(
  path.join(folder, "images.txt"),
  images.map(({ image, digest }) => `${image}@${digest}\n`).join(""),
);

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
