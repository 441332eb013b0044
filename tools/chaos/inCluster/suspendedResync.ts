import { isOver, WORKFLOWS } from "../../../runtime/argo/workflows";
import type { Resync } from "../patience";
import { NotYetError, persist } from "../persist";
import type { Administrator } from "./administrator";
import { NAMESPACE } from "./parts";

const CRON_WORKFLOWS = { apiVersion: WORKFLOWS.apiVersion, kind: "CronWorkflow" };

/** The resync of the form `pod`, a CronWorkflow. It is held back by suspending it. */
export class SuspendedResync implements Resync {
  constructor(
    private readonly administrator: Pick<Administrator, "list" | "patch">,
    private readonly options: { readonly patienceMs: number; readonly signal: AbortSignal },
  ) {}

  async hold(): Promise<() => Promise<void>> {
    const goOn = () => this.suspend(null);
    try {
      await this.suspend(true, this.options.signal);
      await persist(async () => {
        const runs = await this.administrator.list(WORKFLOWS, NAMESPACE);
        const [run] = runs.filter((each) => !isOver(each));
        if (run) throw new NotYetError(`the run ${run.metadata.name} has not ended`);
      }, this.options);
    } catch (error) {
      await goOn();
      throw error;
    }
    return goOn;
  }

  private async suspend(suspend: true | null, signal?: AbortSignal): Promise<void> {
    await persist(
      async () => {
        const resyncs = await this.administrator.list(CRON_WORKFLOWS, NAMESPACE);
        if (resyncs.length === 0) throw new NotYetError(`there is no CronWorkflow in ${NAMESPACE}`);
        for (const resync of resyncs) await this.administrator.patch(resync, { spec: { suspend } });
      },
      { patienceMs: this.options.patienceMs, signal },
    );
  }
}
