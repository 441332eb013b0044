import { spawn } from "node:child_process";
import { open, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { parseAllDocuments } from "yaml";
import { isRunning } from "../common/isRunning";
import { clusterDirectory } from "./configuration";

/** One of the control plane's long-running programs, as kwokctl recorded it. */
export interface Component {
  /** "kube-apiserver", "etcd", ... */
  readonly name: string;
  /** Path of the program: a link below the control plane's directory. */
  readonly binary: string;
  readonly args: readonly string[];
  /** Variables that it gets in addition to those of our environment. */
  readonly envs?: readonly { readonly name: string; readonly value: string }[];
}

/** The components of the cluster. None as long as kwokctl has not recorded all of them. */
export async function readComponents(directory: string): Promise<Component[]> {
  const text = await readFile(join(clusterDirectory(directory), "kwok.yaml"), "utf8").catch(() => "");
  // Read again and again while kwokctl prepares them. To parse it takes ten milliseconds.
  if (!/^components:/m.test(text)) return [];
  for (const document of parseAllDocuments(text)) {
    const value: unknown = document.toJS();
    if (isClusterRecord(value)) return value.components;
  }
  return [];
}

function isClusterRecord(value: unknown): value is { components: Component[] } {
  return (
    typeof value === "object" && value !== null && "components" in value && Array.isArray(value.components)
  );
}

/** The log file of a component. */
export function logPath(directory: string, component: Component): string {
  return join(clusterDirectory(directory), "logs", `${basename(component.binary)}.log`);
}

function processIdPath(directory: string, component: Component): string {
  return join(clusterDirectory(directory), "pids", `${basename(component.binary)}.pid`);
}

/** The process id that kwokctl or {@link startComponent} recorded. Undefined before the component's first start. */
export async function processIdOf(directory: string, component: Component): Promise<number | undefined> {
  const text = await readFile(processIdPath(directory, component), "utf8").catch(() => "");
  return Number.parseInt(text, 10) || undefined;
}

/**
 * Starts a component as kwokctl did: with the same arguments, variables and log, which it continues. The process id is recorded.
 */
export async function startComponent(directory: string, component: Component): Promise<void> {
  const log = await open(logPath(directory, component), "a");
  const variables = (component.envs ?? []).map(({ name, value }) => [name, value]);
  try {
    const child = spawn(component.binary, component.args, {
      cwd: clusterDirectory(directory),
      env: { ...process.env, ...Object.fromEntries(variables) },
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.unref();
    await writeFile(processIdPath(directory, component), String(child.pid));
  } finally {
    await log.close();
  }
}

/** Kills a component (SIGKILL), if it runs. */
export async function killComponent(directory: string, component: Component): Promise<void> {
  const processId = await processIdOf(directory, component);
  await rm(processIdPath(directory, component), { force: true });
  if (processId !== undefined && isRunning(processId)) process.kill(processId, "SIGKILL");
}
