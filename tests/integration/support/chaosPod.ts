import { writeFileSync } from "node:fs";
import path from "node:path";
import type { ResidentOperator } from "./residentOperator";
import type { ResidentPod } from "./residentPod";
import { TcpProxy } from "./tcpProxy";

/** How long a pod may take to end by itself, as a kubelet gives it. */
const GRACE_MS = 5_000;

/** A runner's pod that things go wrong with, and its own bad network. */
export class ChaosPod {
  private constructor(
    readonly pod: ResidentPod,
    /** Between the runner and the API server. */
    readonly network: TcpProxy,
  ) {}

  static async start(operator: ResidentOperator): Promise<ChaosPod> {
    const { connection } = operator.cluster;
    const network = await TcpProxy.start(connection);
    const pod = await operator.start(network.through(connection).server);
    return new ChaosPod(pod.startHandler(), network);
  }

  async kill(): Promise<void> {
    await this.pod.end("SIGKILL");
  }

  /** Starts the runner's container again, unless it runs. */
  revive(): void {
    if (!this.pod.isRunning) this.pod.startRunner();
  }

  /** Ends the handler's container with all that runs in it, and starts it again. */
  async restartHandler(): Promise<void> {
    await this.pod.container.kill();
    this.pod.startHandler();
  }

  /** Rolls it out with another version of the handler's files: a new pod, but for its name. */
  async renew(version: number): Promise<void> {
    const ended = this.pod.end("SIGTERM");
    const killed = setTimeout(() => void this.kill(), GRACE_MS);
    await ended;
    clearTimeout(killed);
    writeFileSync(path.join(this.pod.container.folder, "version"), String(version));
    await this.restartHandler();
    this.revive();
  }

  async stop(): Promise<void> {
    await this.network.stop();
  }
}
