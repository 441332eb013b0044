import { randomInt } from "node:crypto";
import { createServer } from "node:net";

// Below the ranges from which Linux and macOS give ports to outgoing connections: the API server opens so many
// to etcd that one of them could take a port before its program binds it.
const lowest = 10_000;
const highest = 32_000;

/**
 * Picks different TCP ports on which nobody is listening. They are random, so that control planes that start at the same time
 * rarely pick the same. Another process may still be quicker to bind one.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(lowest, highest);
    if ((await isFree(port, "127.0.0.1")) && (await isFree(port, "0.0.0.0"))) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
