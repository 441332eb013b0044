import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { complaintOfSystem, UsageError } from "../common/commandError";

const LOOPBACK = "127.0.0.1";

// Below the ranges from which Linux and macOS give ports to outgoing connections. The API server opens many of them to etcd, and
// one could take a port before its program binds it.
const lowest = 10_000;
const highest = 32_000;

/**
 * Picks different TCP ports on which no process listens. They are random, so that control planes that start at the same time
 * rarely pick the same. Another process may still be quicker to bind one.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(lowest, highest);
    if ((await isFree(port)) && (await isFree(port, "0.0.0.0"))) ports.add(port);
  }
  return [...ports];
}

/**
 * Checks whether a port of this machine can be used, so that nothing is started in vain.
 *
 * @param port 0: any free one, which can always be had
 * @param option the option that names another port: "--port"
 * @throws UsageError
 */
export async function checkPort(port: number, option: string): Promise<void> {
  const error = port === 0 ? undefined : await listenError(port, LOOPBACK);
  if (error) throw new UsageError(portRefusal(port, option, error), { cause: error });
}

/** Why a port cannot be used, with the remedy. */
export function portRefusal(port: number, option: string, error: NodeJS.ErrnoException): string {
  const why =
    error.code === "EADDRINUSE"
      ? `Another program uses port ${port}.`
      : `Port ${port} cannot be used: ${complaintOfSystem(error) ?? error.message}.`;
  return `${why} Choose another one with ${option}.`;
}

/** Whether no process listens on a port, and this one may. */
export async function isFree(port: number, host = LOOPBACK): Promise<boolean> {
  return (await listenError(port, host)) === undefined;
}

function listenError(port: number, host: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", resolve);
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
