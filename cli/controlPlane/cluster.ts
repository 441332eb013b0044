import { spawn } from "node:child_process";
import { mkdir, open, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { isRunning } from "../common/isRunning";
import { indent, lastLines } from "../common/terminal";
import { until } from "../common/until";
import { ApiClient } from "./apiClient";
import { type Component, logPath, processIdOf, readComponents, startComponent } from "./component";
import { clusterName, kwokctlConfiguration, type Ports } from "./configuration";
import type { ProgramPaths } from "./programs";
import { createNode, isNodeReady } from "./simulatedNode";

const startMilliseconds = 120_000;
const restartsAllowed = 5;
const linesShown = 5;

/** A program could not bind its port, because another process was quicker. Another try with other ports may succeed. */
export class PortTakenError extends Error {}

/** Path of the cluster's kubeconfig. */
export function kubeconfigPath(directory: string): string {
  return join(directory, "kubeconfig");
}

/** URL of the API server. */
export function serverUrl(ports: Ports): string {
  return `https://127.0.0.1:${ports.apiServer}`;
}

/**
 * Starts the cluster in a directory and resolves when its node is Ready and pods can be created.
 *
 * @throws {@link PortTakenError}; the signal's reason; the last messages of kwokctl or the components, if they fail or are not
 *   ready within two minutes
 */
export async function startCluster(
  directory: string,
  programs: ProgramPaths,
  ports: Ports,
  signal: AbortSignal | undefined,
  data?: string,
): Promise<void> {
  const kwokctl = await createCluster(directory, programs, ports, data);
  const start = new Start(directory, serverUrl(ports));
  const isReady = async () => {
    if (kwokctl.code) throw new Error(`kwokctl ended with code ${kwokctl.code}`);
    // From then on it would only start kubectl again and again to find out whether the API server answers.
    if (await start.hasComponents()) kwokctl.end();
    return start.isReady();
  };
  try {
    const message = (waited: string) => `it was not ready after ${waited}`;
    await until(isReady, { what: "it is ready", message, deadlineMs: startMilliseconds, signal });
  } catch (error) {
    if (error instanceof PortTakenError || signal?.aborted || !(error instanceof Error)) throw error;
    throw new Error(`the control plane did not start: ${error.message}\n${await lastWords(directory)}`);
  } finally {
    start.close();
  }
}

/** The process of kwokctl, which makes the cluster's certificates and starts its components. */
interface Kwokctl {
  /** Its exit code, if it has ended by itself. */
  readonly code: number | undefined;
  /** Kills it. The components go on. Idempotent. */
  end(): void;
}

async function createCluster(
  directory: string,
  programs: ProgramPaths,
  ports: Ports,
  data: string | undefined,
): Promise<Kwokctl> {
  // They are started through links, so that the watchdog recognizes them by their paths, like the components.
  const links = join(directory, "bin");
  await mkdir(links);
  for (const name of ["kwokctl", "kubectl"] as const) await symlink(programs[name], join(links, name));
  const configuration = join(directory, "kwokctl.yaml");
  await writeFile(configuration, JSON.stringify(kwokctlConfiguration(programs, ports, data)));
  const log = await open(kwokctlLogPath(directory), "a");
  const kwokctlArguments = ["create", "cluster", "--name", clusterName, "--config", configuration];
  const child = spawn(
    join(links, "kwokctl"),
    [...kwokctlArguments, "--kubeconfig", kubeconfigPath(directory)],
    {
      cwd: directory,
      env: kwokctlEnvironment(directory, links),
      stdio: ["ignore", log.fd, log.fd],
      detached: true,
    },
  );
  await log.close();
  let code: number | undefined;
  child.once("error", () => {
    code = 127;
  });
  const onExit = (exitCode: number | null): void => {
    code = exitCode ?? 1;
  };
  child.once("exit", onExit);
  return {
    get code() {
      return code;
    },
    end: () => {
      child.off("exit", onExit);
      // Once the child has been reaped, its number may be another process's.
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        process.kill(-child.pid, "SIGKILL");
    },
  };
}

/** Our environment without a user's settings for kwok, which would win over our configuration. */
function kwokctlEnvironment(directory: string, links: string): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith("KWOK_"));
  const path = [links, process.env.PATH ?? ""].join(delimiter);
  return { ...Object.fromEntries(entries), PATH: path, KWOK_WORKDIR: directory };
}

/** The progress of the start. */
class Start {
  private client: ApiClient | undefined;
  private components: Component[] = [];
  private hasNode = false;
  private restarts = 0;

  constructor(
    private readonly directory: string,
    private readonly server: string,
  ) {}

  async isReady(): Promise<boolean> {
    await this.checkComponents();
    this.client ??= await ApiClient.open(this.server, this.directory).catch(() => undefined);
    if (this.client === undefined) return false;
    if (!this.hasNode) {
      if (!(await this.client.succeeds("/readyz"))) return false;
      await createNode(this.client);
      this.hasNode = true;
    }
    // A namespace without its service account accepts no pods.
    const account = "/api/v1/namespaces/default/serviceaccounts/default";
    return (await isNodeReady(this.client)) && (await this.client.succeeds(account));
  }

  close(): void {
    this.client?.close();
  }

  /** Whether every component has been started. */
  async hasComponents(): Promise<boolean> {
    if (this.components.length === 0) this.components = await readComponents(this.directory);
    const processIds = await Promise.all(this.components.map((each) => processIdOf(this.directory, each)));
    return processIds.length > 0 && !processIds.includes(undefined);
  }

  private async checkComponents(): Promise<void> {
    for (const component of this.components) {
      const processId = await processIdOf(this.directory, component);
      if (processId === undefined || isRunning(processId)) continue;
      const said = await readFile(logPath(this.directory, component), "utf8");
      if (said.includes("address already in use"))
        throw new PortTakenError(`${component.name}: its port was taken`);
      if (this.restarts === restartsAllowed) throw new Error(`${component.name} does not stay up`);
      // The controller manager gives up when the API server takes longer than ten seconds, on a busy machine.
      this.restarts += 1;
      await startComponent(this.directory, component);
    }
  }
}

function kwokctlLogPath(directory: string): string {
  return join(directory, "kwokctl.log");
}

async function lastWords(directory: string): Promise<string> {
  const logs = (await readComponents(directory)).map((component) => logPath(directory, component));
  const parts = [kwokctlLogPath(directory), ...logs].map(async (path) => {
    const text = await readFile(path, "utf8").catch(() => "");
    return `${path}\n${indent(lastLines(text, linesShown), "  ")}`;
  });
  return (await Promise.all(parts)).join("\n");
}
