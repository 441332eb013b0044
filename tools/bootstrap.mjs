// Runs every command from the sources, and first installs what is missing.
// Runs a command from the sources: node tools/bootstrap.mjs <argosy|test|bench|chaos|coverage|e2e> [arguments]
//
// It needs only Node, and provides everything that the commands need: the dependencies, and TypeScript in this process.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const OLDEST_NODE = [20, 19];
/** The file of each command: the command of the product, and the commands for maintainers. */
const FILES = {
  argosy: "cli/argosy.ts",
  test: "tools/test.ts",
  bench: "tools/bench.ts",
  chaos: "tools/chaos.ts",
  coverage: "tools/coverage.ts",
  e2e: "tools/e2e.ts",
};
/** The option that makes the package's name mean sources. It holds for the program that a command runs, too. */
const FROM_SOURCES = "--conditions=@argosy-dev/source";
const REPORT_EVERY_MS = 15_000;
const POLL_MS = 250;
const USAGE_EXIT_CODE = 2;

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const lockFile = path.join(root, "package-lock.json");
/** The file with the hash of the lock file that node_modules was installed from. */
const recordFile = path.join(root, "node_modules", ".argosy-lock");
/** A link to the id of the process that installs. npm removes node_modules, so it is not there. */
const installer = path.join(root, ".installing");

/** Whether node_modules was installed from the present lock file, no matter who installed it. */
function isInstalled() {
  const modules = path.join(root, "node_modules");
  if (!existsSync(modules)) return false;
  // If node_modules is a link, its packages are elsewhere, and npm ci would remove them there.
  if (lstatSync(modules).isSymbolicLink()) return true;
  if (existsSync(recordFile)) return readFileSync(recordFile, "utf8") === lockHash();
  if (!npmHasInstalled()) return false;
  recordInstallation();
  return true;
}

/** Whether npm's own record of node_modules has every package of the lock file in its version. */
function npmHasInstalled() {
  const installedFile = path.join(root, "node_modules", ".package-lock.json");
  if (!existsSync(installedFile)) return false;
  const installed = JSON.parse(readFileSync(installedFile, "utf8")).packages;
  const wanted = Object.entries(JSON.parse(readFileSync(lockFile, "utf8")).packages);
  return wanted.every(
    ([place, { version, optional }]) => !place || optional || installed[place]?.version === version,
  );
}

function lockHash() {
  return createHash("sha256").update(readFileSync(lockFile)).digest("hex");
}

/** Without the record, the next command compares all packages again. So a folder that cannot be written does not matter. */
function recordInstallation() {
  try {
    writeFileSync(recordFile, lockHash());
  } catch {}
}

/** Installs what is missing. Only one of several commands does that, and the others wait. */
async function provide() {
  const startedAt = Date.now();
  const tell = (line) => process.stderr.write(`${line} (${Math.round((Date.now() - startedAt) / 1000)} s)\n`);
  let line = "still installing the dependencies";
  const timer = setInterval(() => tell(line), REPORT_EVERY_MS);
  try {
    while (!isInstalled()) {
      const other = becomeInstaller();
      if (other === undefined) {
        try {
          // The other process may have ended in between.
          if (!isInstalled()) await install(tell);
        } finally {
          rmSync(installer, { force: true });
        }
        return;
      }
      const waiting = `waiting for process ${other}, which installs the dependencies; if it does not, remove .installing`;
      if (line !== waiting) tell(waiting);
      line = waiting;
      await sleep(POLL_MS);
    }
  } finally {
    clearInterval(timer);
  }
}

async function install(tell) {
  tell("installing the dependencies with npm ci");
  // Without this, npm leaves out TypeScript and the tests' packages if NODE_ENV or npm's own configuration is for production.
  await run("npm", ["ci", "--include=dev", "--no-audit", "--no-fund"]);
  recordInstallation();
  tell("dependencies installed");
}

/** @returns undefined if this process is to install, or else the id of the process that does */
function becomeInstaller() {
  for (;;) {
    try {
      symlinkSync(String(process.pid), installer);
      return undefined;
    } catch (error) {
      if (error.code !== "EEXIST")
        throw new UserError(`The dependencies are missing, and ${root} cannot be written: ${error.message}`);
    }
    const other = installingProcess();
    if (other !== undefined) return other;
  }
}

/** The process that installs. If it was killed, its link is removed. */
function installingProcess() {
  try {
    const id = Number(readlinkSync(installer));
    process.kill(id, 0);
    return id;
  } catch (error) {
    if (error.code === "EPERM") return "of another user";
    if (error.code === "ESRCH") rmSync(installer, { force: true });
    else if (error.code !== "ENOENT") throw error;
    return undefined;
  }
}

/** Runs a program to its end. It writes to our standard error, and is stopped if we are. */
async function run(program, args) {
  const child = spawn(program, args, { cwd: root, stdio: ["ignore", process.stderr, process.stderr] });
  const stop = (signal) => child.kill(signal);
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        if (code === 0) resolve();
        else
          reject(new UserError(`${program} ${args.join(" ")} ended with ${signal ?? `exit code ${code}`}`));
      });
    });
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

/** The folder of the program that a command is for. */
function programFolder(args) {
  const at = args.findIndex((arg) => /^--project(=|$)/.test(arg));
  const given = at < 0 ? "." : args[at].includes("=") ? args[at].replace(/^.*?=/, "") : args[at + 1];
  return path.resolve(given ?? ".");
}

/** Whether a program has installed the package as it is packed: without sources. */
function hasPackedPackage(folder) {
  const place = path.join(folder, "node_modules", "@argosy-dev", "argosy");
  if (existsSync(place)) return !existsSync(path.join(place, "components"));
  return path.dirname(folder) !== folder && hasPackedPackage(path.dirname(folder));
}

/** Runs this command again, in a process without {@link FROM_SOURCES}. The terminal sends Ctrl-C to that process as well. */
function runWithPackedPackage(command, args) {
  const options = process.execArgv.filter((option) => option !== FROM_SOURCES);
  const script = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, [...options, script, command, ...args], { stdio: "inherit" });
  process.on("SIGINT", () => {}).on("SIGTERM", (signal) => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once("error", reject).once("exit", (code) => resolve(code ?? 1));
  });
}

/** An error that the user of the command can correct. It is printed without a stack. */
class UserError extends Error {
  /** @param exitCode 1, or {@link USAGE_EXIT_CODE} */
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Returns the exit code. The command itself prints its errors. */
async function main([command, ...args]) {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    throw new UserError(
      `Node ${OLDEST_NODE.join(".")} or newer is required; this is ${process.versions.node}.`,
    );
  }
  const file = FILES[command];
  if (!file) {
    const commands = Object.keys(FILES).join("|");
    throw new UserError(`usage: node tools/bootstrap.mjs <${commands}> [arguments]`, USAGE_EXIT_CODE);
  }
  await provide();
  if (
    process.execArgv.includes(FROM_SOURCES) &&
    command === "argosy" &&
    hasPackedPackage(programFolder(args))
  )
    return runWithPackedPackage(command, args);
  const require = createRequire(import.meta.url);
  require("../cli/typescript.cjs");
  return require(path.join(root, file)).main(args);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof UserError ? error.message : (error?.stack ?? error)}\n`);
  process.exitCode = error?.exitCode ?? 1;
}
