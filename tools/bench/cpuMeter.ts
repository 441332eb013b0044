import type { Cluster } from "./cluster";
import type { RoundFigures } from "./figures";
import type { Observer } from "./measure";
import type { RunningPeer } from "./peer";

type CpuTimes = Pick<RoundFigures, "operatorCpuMs" | "serverCpuMs">;

/** Reads how much CPU time an operator and the API server take for the objects of the burst. */
export class CpuMeter implements Observer {
  private begun: CpuTimes | undefined;
  private ended: CpuTimes | undefined;

  constructor(
    private readonly running: Pick<RunningPeer, "cpuMs">,
    private readonly cluster: Pick<Cluster, "serverCpuMs">,
  ) {}

  async burstBegins(): Promise<void> {
    this.begun = await this.read();
  }

  async burstSettled(): Promise<void> {
    this.ended = await this.read();
  }

  /**
   * The CPU time for each object.
   * @param objects how many objects the burst had
   * @throws Error before the burst has settled
   */
  figures(objects: number): CpuTimes {
    const { begun, ended } = this;
    if (!begun || !ended) throw new Error("the burst has not settled");
    const each = (name: keyof CpuTimes) => (ended[name] - begun[name]) / objects;
    return { operatorCpuMs: each("operatorCpuMs"), serverCpuMs: each("serverCpuMs") };
  }

  private async read(): Promise<CpuTimes> {
    const [operatorCpuMs, serverCpuMs] = await Promise.all([
      this.running.cpuMs(),
      this.cluster.serverCpuMs(),
    ]);
    return { operatorCpuMs, serverCpuMs };
  }
}
