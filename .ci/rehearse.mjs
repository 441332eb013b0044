// Does what the tag of a release does, short of publishing:
//
//   node .ci/rehearse.mjs v1.2.3
//
// It runs the scripts of the workflow `release` in their order, in a clean clone of this commit. npm publishes nothing, and `gh` only
// says what it would do. The workflows of other jobs are not run, and the images get digests only where crane reaches their registries.
// A changelog without a date gets that of today in the clone. The clone stays, with what would be published in packed/.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

/** The folder of the repository, or another one: for tests. */
const [tag = "", root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..")] =
  process.argv.slice(2);
const work = mkdtempSync(path.join(tmpdir(), "argosy-rehearsal-"));
const clone = path.join(work, "clone");
const say = (line) => process.stdout.write(`${line}\n`);

git(root, "clone", "--quiet", root, clone);
// Where the workflow looks for main.
git(clone, "update-ref", "refs/remotes/origin/main", "HEAD");
date(path.join(clone, "CHANGELOG.md"));

// In the places of npm, which is asked for a dry run, and of gh, which is sent nothing, but must be given files that there are.
const npm = execFileSync("bash", ["--norc", "-c", "command -v npm"], { encoding: "utf8" }).trim();
write(
  "npm",
  `case "$1" in publish) exec ${npm} "$@" --dry-run --no-provenance ;; *) exec ${npm} "$@" ;; esac`,
);
write(
  "gh",
  `echo "not sent: gh $*"
case "$2" in view) exit 1 ;; esac
for each in "$@"; do case "$each" in packed/*) [ -e "$each" ] || { echo "$each is not there" >&2; exit 1; } ;; esac; done`,
);
const env = {
  ...process.env,
  PATH: `${path.join(work, "bin")}:${process.env.PATH}`,
  GITHUB_REF_NAME: tag,
  GH_TOKEN: "none",
  GH_REPO: "none/none",
};

const { jobs } = parse(readFileSync(path.join(clone, ".github/workflows/release.yml"), "utf8"));
for (const [name, { uses, steps = [] }] of Object.entries(jobs)) {
  if (uses) say(`== ${name}: not run here, see ${uses}`);
  for (const { run } of steps.filter((step) => step.run)) {
    say(`== ${name}`);
    const { status } = spawnSync("bash", ["--norc", "-e", "-c", run], {
      cwd: clone,
      env,
      stdio: ["ignore", "inherit", "inherit"],
    });
    if (status !== 0) fail(`The job ${name} fails.`);
    // What the job `images` would have brought.
    if (name === "pack") resolveImages();
  }
}
say(`Nothing was published. ${path.join(clone, "packed")} has what would be.`);

function resolveImages() {
  const packed = path.join(clone, "packed");
  const { status } = spawnSync(process.execPath, [".ci/images.mjs", packed], {
    cwd: clone,
    env,
    stdio: "ignore",
  });
  if (status === 0) return;
  say("== images: no digests, because crane is not there, or reaches no registry");
  for (const file of ["images.json", "images.txt"]) writeFileSync(path.join(packed, file), "");
}

/** Gives the section of this version a date, and says so. */
function date(changelog) {
  const text = readFileSync(changelog, "utf8");
  const today = new Date().toISOString().slice(0, 10);
  const dated = text.replace(`## ${tag.slice(1)} (unreleased)\n`, `## ${tag.slice(1)} (${today})\n`);
  if (dated === text) return;
  say(`CHANGELOG.md has no date for ${tag}: the clone has ${today}.`);
  writeFileSync(changelog, dated);
}

function write(command, script) {
  mkdirSync(path.join(work, "bin"), { recursive: true });
  writeFileSync(path.join(work, "bin", command), `#!/usr/bin/env bash\n${script}\n`, { mode: 0o755 });
}

function git(folder, ...args) {
  execFileSync("git", ["-C", folder, ...args], { stdio: ["ignore", "ignore", "inherit"] });
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
