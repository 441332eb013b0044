import { spawn } from "node:child_process";
import { openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";
import { until } from "../../../cli/common/until";
import type { KubernetesObject } from "../../../runtime/base/objects";
import { NotYetError } from "../persist";

const GONE_MS = 10_000;
/** The time within which the watchdog of a process restarts it. */
const LOOKED_AFTER_MS = 4_000;

/** A process of this machine. */
export interface NodeProcess {
  readonly id: number;
  readonly args: readonly string[];
}

/**
 * A program of a control plane, and an option that identifies this cluster's process, because several clusters may share a
 * machine.
 */
export interface ControlPlaneProgram {
  readonly name: string;
  readonly option: string;
  /** The option's value, or one of the values in its list. */
  readonly value: string;
}

/** The programs of a cluster's control plane that chaos kills and freezes. */
export interface ControlPlane {
  readonly apiServer: ControlPlaneProgram;
  readonly etcd: ControlPlaneProgram;
}

/**
 * The control plane on this machine of the cluster whose API server has this address. The API server is identified by its port,
 * and etcd by the address that the API server uses.
 * @throws Error if there is none
 */
export function findControlPlane(server: string): ControlPlane {
  const { port, protocol } = new URL(server);
  const value = port || (protocol === "http:" ? "80" : "443");
  const apiServer = { name: "kube-apiserver", option: "--secure-port", value };
  const [url = ""] = valuesOf(controlPlaneProcess(apiServer), "--etcd-servers");
  const etcd = { name: "etcd", option: "--listen-client-urls", value: url };
  controlPlaneProcess(etcd);
  return { apiServer, etcd };
}

/** The process of a control plane on this machine, in our network namespace. @throws Error if there is none */
export function controlPlaneProcess({ name, option, value }: ControlPlaneProgram): NodeProcess {
  const own = readlinkSync("/proc/self/ns/net");
  const found = processes().find(
    (each) =>
      path.basename(each.args[0] ?? "") === name &&
      valuesOf(each, option).includes(value) &&
      linkOf(each.id, "ns/net") === own,
  );
  if (!found) throw new Error(`no process of ${name} with ${option}=${value} is in this network namespace`);
  return found;
}

/** The values of an option that has a list of them, written as one word or as two. */
function valuesOf({ args }: NodeProcess, option: string): readonly string[] {
  const at = args.findIndex((word) => word === option || word.startsWith(`${option}=`));
  const word = args[at] ?? "";
  const list = word === option ? args[at + 1] : word.slice(option.length + 1);
  return list ? list.split(",") : [];
}

/**
 * The processes of a pod, if they are on this machine.
 * @throws NotYetError if there are none, because the pod may not have started
 */
export function podProcesses({ metadata: { name, uid } }: KubernetesObject): readonly NodeProcess[] {
  // If systemd is the driver of cgroups, dashes become underscores.
  const marks = [uid, uid.replaceAll("-", "_")];
  const found = processes().filter(({ id }) => {
    const groups = textOf(id, "cgroup");
    return marks.some((mark) => groups.includes(mark));
  });
  if (found.length === 0) throw new NotYetError(`no process of pod ${name} is on this machine`);
  return found;
}

/** Sends a signal to a process, unless it has ended. */
export function signal({ id }: NodeProcess, name: NodeJS.Signals): void {
  try {
    process.kill(id, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/**
 * Kills a process of a control plane.
 * @returns a function that starts it again in the same way, unless it already runs again
 */
export async function killControlPlane(program: ControlPlaneProgram): Promise<() => Promise<void>> {
  const victim = controlPlaneProcess(program);
  const { id, args } = victim;
  const [, ...rest] = args;
  const executable = readlinkSync(`/proc/${id}/exe`);
  const folder = readlinkSync(`/proc/${id}/cwd`);
  const environment = Object.fromEntries(
    textOf(id, "environ")
      .split("\0")
      .filter((entry) => entry.includes("="))
      .map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]),
  );
  const log = linkOf(id, "fd/1");
  signal(victim, "SIGKILL");
  await until(() => linkOf(id, "exe") === "", { what: `process ${id} ends`, deadlineMs: GONE_MS });
  return async () => {
    const isBack = { what: `${program.name} is back`, deadlineMs: LOOKED_AFTER_MS };
    await until(() => isThere(program), isBack).catch(() => {
      const output = log.startsWith("/") ? openSync(log, "a") : "ignore";
      spawn(executable, rest, {
        cwd: folder,
        env: environment,
        argv0: args[0] ?? program.name,
        detached: true,
        stdio: ["ignore", output, output],
      }).unref();
    });
  };
}

function isThere(program: ControlPlaneProgram): boolean {
  try {
    return controlPlaneProcess(program).id > 0;
  } catch {
    return false;
  }
}

function processes(): NodeProcess[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ id: Number(name), args: textOf(Number(name), "cmdline").split("\0").slice(0, -1) }));
}

function textOf(id: number, file: string): string {
  try {
    return readFileSync(`/proc/${id}/${file}`, "utf8");
  } catch {
    return "";
  }
}

function linkOf(id: number, file: string): string {
  try {
    return readlinkSync(`/proc/${id}/${file}`);
  } catch {
    return "";
  }
}
