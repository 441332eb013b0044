import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { isRunning } from "../../../cli/common/isRunning";
import { lastLines } from "../../../cli/common/terminal";
import { until } from "../../../cli/common/until";
import type { ControlPlane } from "../../../cli/controlPlane";
import { ApiClient } from "../../../cli/controlPlane/apiClient";
import {
  type Component,
  killComponent,
  logPath,
  processIdOf,
  readComponents,
  startComponent,
} from "../../../cli/controlPlane/component";

type Place = Pick<ControlPlane, "directory" | "server">;

const startMilliseconds = 60_000;
const killMilliseconds = 10_000;

/**
 * Kills the API server of a running control plane (SIGKILL), like a crash, and resolves when its port refuses connections. etcd and
 * the rest go on.
 *
 * @throws if something still listens there ten seconds later
 */
export async function killApiServer({ directory, server }: Place): Promise<void> {
  await killComponent(directory, await apiServerOf(directory));
  const what = `${server} refuses connections, because its process was killed`;
  await until(async () => !(await isListening(server)), { what, deadlineMs: killMilliseconds });
}

/**
 * Starts the API server again with the same arguments, unless it is running, and resolves when it is ready. Controllers and other
 * watchers retry with a growing delay, as in any cluster: after an outage of many seconds they take up to a minute to notice.
 *
 * @throws if it ends or is not ready within a minute: its last words
 */
export async function startApiServer({ directory, server }: Place): Promise<void> {
  const component = await apiServerOf(directory);
  const running = await processIdOf(directory, component);
  if (running === undefined || !isRunning(running)) await startComponent(directory, component);
  const client = await ApiClient.open(server, directory);
  const isReady = async () => {
    if (await client.succeeds("/readyz")) return true;
    const processId = await processIdOf(directory, component);
    if (processId === undefined || !isRunning(processId)) throw new Error("it has ended");
    return false;
  };
  try {
    const message = (waited: string) => `it was not ready after ${waited}`;
    await until(isReady, { what: "it is ready", message, deadlineMs: startMilliseconds });
  } catch (error) {
    const said = lastLines(await readFile(logPath(directory, component), "utf8"), 10);
    const reason = (error as Error).message;
    throw new Error(`the API server did not start again: ${reason}\n${said}`);
  } finally {
    client.close();
  }
}

async function apiServerOf(directory: string): Promise<Component> {
  const found = (await readComponents(directory)).find((component) => component.name === "kube-apiserver");
  if (found === undefined) throw new Error(`there is no control plane in ${directory} (any more)`);
  return found;
}

function isListening(server: string): Promise<boolean> {
  const { hostname, port } = new URL(server);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
