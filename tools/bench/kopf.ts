import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reportWhile } from "../../cli/controlPlane/progress";
import { runCommand } from "./command";
import { startOperator } from "./operatorProcess";
import type { Peer } from "./peer";

const FOLDER = join(__dirname, "peers", "kopf");
const REQUIREMENTS = join(FOLDER, "requirements.txt");

/** The peer on Kopf, the Python operator framework, in a virtual environment of its own. */
export function createKopfPeer(): Peer {
  let program = "";
  return {
    name: "kopf",
    async prepare({ cache, progress, signal }) {
      const environment = join(cache, "kopf");
      program = join(environment, "bin", "kopf");
      const requirements = await readFile(REQUIREMENTS, "utf8");
      // Written last, so that an interrupted installation is repeated.
      const installed = join(environment, "installed.txt");
      if ((await readFile(installed, "utf8").catch(() => "")) === requirements) return;
      await reportWhile(
        progress,
        (elapsed) => `kopf: installing it from PyPI into a virtual environment, once (${elapsed})`,
        async () => {
          await install(environment, signal);
          await writeFile(installed, requirements);
        },
      );
    },
    start: async (start) =>
      startOperator({
        ...start,
        program,
        args: ["run", "--standalone", "--all-namespaces", join(FOLDER, "memcached.py")],
        // No __pycache__ in this repository.
        env: { PYTHONDONTWRITEBYTECODE: "1" },
        readyText: "Initial authentication has finished",
      }),
  };
}

async function install(environment: string, signal: AbortSignal): Promise<void> {
  const options = { folder: FOLDER, signal };
  await rm(environment, { recursive: true, force: true });
  await mkdir(environment, { recursive: true });
  await runCommand("python3", ["-m", "venv", environment], options);
  const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--requirement", REQUIREMENTS];
  await runCommand(join(environment, "bin", "python"), pip, options);
}
