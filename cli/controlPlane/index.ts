import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterConnection } from "../../runtime/cli";
import { shellWord } from "../common/shellWord";
import { formatDuration } from "../common/terminal";
import { kubeconfigPath, PortTakenError, serverUrl, startCluster } from "./cluster";
import { type Ports, portsFrom } from "./configuration";
import { readConnection } from "./connection";
import { freePorts } from "./ports";
import type { ProgramPaths } from "./programs";
import { type Report, reportWhile } from "./progress";
import { providePrograms } from "./provide";
import { lackOfRoom } from "./room";
import { Watchdog } from "./watchdog";

/** A running Kubernetes control plane of this process. It is real, except that its node and the pods are simulated. */
export interface ControlPlane {
  /** Path of a kubeconfig with cluster-admin rights. */
  readonly kubeconfig: string;
  /** This control plane's own directory: logs, certificates, etcd data. Removed by stop(). */
  readonly directory: string;
  /** "https://127.0.0.1:PORT" */
  readonly server: string;
  /** The same rights as {@link kubeconfig}, for a client in this process. */
  readonly connection: ClusterConnection;
  /** Stops every process and removes the directory. Idempotent. */
  stop(): Promise<void>;
}

/** The options of {@link startControlPlane}. */
export interface ControlPlaneOptions {
  /** Called with one line of progress at a time (no newline), e.g. "building kube-apiserver v1.34.1 from source (3 of 6, 2 min 10 s)". */
  readonly onProgress?: (line: string) => void;
  /** Aborts the start. A control plane that has started is not affected. */
  readonly signal?: AbortSignal;
  /**
   * The folder of etcd's data. It stays after the control plane has stopped, so that the next one has the same objects. Only one
   * control plane may use it.
   * @default a folder that is removed with the control plane
   */
  readonly data?: string;
}

const attempts = 5;

/**
 * Starts a control plane with one simulated node, Ready. Programs that are not on this machine yet are first downloaded or built,
 * once. The control plane ends with this process for any reason, if stop() has not ended it before.
 *
 * @throws if the programs can be neither downloaded nor built; if they do not start; the signal's reason
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { signal, data } = options;
  const report: Report = options.onProgress ?? (() => undefined);
  const programs = await providePrograms({ report, signal });
  const startedAt = Date.now();
  const line = (elapsed: string): string => `starting the control plane (${elapsed})`;
  const controlPlane = await reportWhile(
    report,
    line,
    () => start(programs, report, signal, data),
    startedAt,
  );
  const kubectl = `${shellWord(programs.kubectl)} --kubeconfig ${shellWord(controlPlane.kubeconfig)}`;
  report(`control plane ready (${formatDuration(Date.now() - startedAt)}): ${kubectl}`);
  return controlPlane;
}

async function start(
  programs: ProgramPaths,
  report: Report,
  signal: AbortSignal | undefined,
  data: string | undefined,
): Promise<ControlPlane> {
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    const ports = portsFrom(await freePorts(6));
    // The path has no symbolic links (on macOS the folder is one), and is short, because etcd's socket paths must not be long.
    const directory = await realpath(await mkdtemp(join(tmpdir(), "argosy-cluster-")));
    const watchdog = new Watchdog(directory);
    try {
      await startCluster(directory, programs, ports, signal, data);
      return await controlPlaneIn(directory, ports, watchdog);
    } catch (error) {
      const noRoom = await lackOfRoom().catch(() => undefined);
      await watchdog.stop();
      signal?.throwIfAborted();
      if (noRoom !== undefined) throw new Error(`${noRoom} ${(error as Error).message}`, { cause: error });
      if (!(error instanceof PortTakenError) || attempt === attempts) throw error;
      report(`${error.message}; trying again with other ports`);
    }
  }
}

async function controlPlaneIn(directory: string, ports: Ports, watchdog: Watchdog): Promise<ControlPlane> {
  const server = serverUrl(ports);
  return {
    kubeconfig: kubeconfigPath(directory),
    directory,
    server,
    connection: await readConnection(server, directory),
    stop: () => watchdog.stop(),
  };
}
