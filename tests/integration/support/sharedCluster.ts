import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";

/** Names the socket at which the processes of a mocha run ask for the kubeconfig of their one control plane. */
const VARIABLE = "ARGOSY_TEST_CLUSTER";

/**
 * Offers one control plane to all processes of a mocha run: it is started when the first of them asks for it, since
 * many runs need none.
 *
 * @param start starts it and gives its kubeconfig
 * @returns ends the offer; it does not stop the control plane
 */
export async function offerCluster(start: () => Promise<string>): Promise<() => void> {
  const folder = mkdtempSync(path.join(tmpdir(), "argosy-tests-"));
  const socket = path.join(folder, "cluster");
  let kubeconfig: Promise<string> | undefined;
  const server: Server = createServer(async (connection) => {
    // Who asked may have ended by now.
    connection.on("error", () => undefined);
    kubeconfig ??= start();
    const answer = await kubeconfig.then(
      (found) => ({ kubeconfig: found }),
      (error: Error) => ({ failure: error.stack }),
    );
    connection.end(JSON.stringify(answer));
  });
  server.listen(socket);
  await once(server, "listening");
  process.env[VARIABLE] = socket;
  return () => {
    delete process.env[VARIABLE];
    server.close();
    rmSync(folder, { recursive: true, force: true });
  };
}

/**
 * The kubeconfig of the control plane that {@link offerCluster} offers.
 *
 * @throws where it could not be started
 */
export async function askForCluster(): Promise<string> {
  const socket = process.env[VARIABLE];
  if (socket === undefined) throw new Error("no control plane is offered to this process");
  const { kubeconfig, failure } = JSON.parse(await text(connect(socket))) as Record<string, string>;
  if (kubeconfig === undefined) throw new Error(`the control plane of this run has failed: ${failure}`);
  return kubeconfig;
}
