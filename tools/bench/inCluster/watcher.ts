import { setTimeout as sleep } from "node:timers/promises";
import type { Objects } from "../../objects";
import type { Observer, Passage } from "../measure";
import { type ApiCalls, callsPerChange, countApiCalls } from "./apiCalls";
import { type Form, OPERATOR_NAMESPACE } from "./form";
import { type Hints, hintsBetween, hintsOf } from "./hints";
import { type LogLine, type LogSource, readLogs } from "./logs";
import { measurePods } from "./measurePods";
import { momentsOf, processedEvents } from "./moments";
import { type PodMemory, sumMiB } from "./podMemory";
import { type Moments, type StageFigure, stageFigures } from "./stages";

/** The report about a form in addition to its figures. */
export interface Observations {
  /** Pods before the first object. */
  readonly idle: readonly PodMemory[];
  /** Pods with all objects of the burst. */
  readonly loaded: readonly PodMemory[];
  /** API calls for each change of the burst, by service account. */
  readonly apiCalls: ApiCalls;
  /** The stages of objects that were created one by one. */
  readonly stages: readonly StageFigure[];
  /** Which came first, the event or the watch. Undefined if this is not known. */
  readonly hints?: Hints;
}

/** How long a sensor may lag behind the last object before its log is read as it is. */
const LATE_EVENTS_MS = 15_000;
const POLL_MS = 500;

const EVENT_SOURCE: LogSource = { namespace: OPERATOR_NAMESPACE, labelSelector: "eventsource-name" };
const SENSOR: LogSource = { namespace: OPERATOR_NAMESPACE, labelSelector: "sensor-name" };
const RESIDENT_RUNNER: LogSource = {
  namespace: OPERATOR_NAMESPACE,
  labelSelector: "app.kubernetes.io/component=runner",
  container: "runner",
};
const RUN: LogSource = {
  namespace: OPERATOR_NAMESPACE,
  labelSelector: "workflows.argoproj.io/workflow",
  container: "main",
};

/** Observes a form's pods, logs and API calls while it is measured. */
export class Watcher implements Observer {
  private readonly memory: PodMemory[][] = [];
  private callsBefore: ApiCalls = {};
  private callsAfter: ApiCalls = {};
  private hintsBefore: Hints | undefined;
  private hints: Hints | undefined;
  private stages: StageFigure[] = [];
  private readonly runLines: LogLine[] = [];
  private readonly podStarts = new Map<string, number>();

  constructor(
    private readonly objects: Objects,
    private readonly form: Form,
    private readonly signal: AbortSignal,
  ) {}

  /** The working set of all the form's pods, in MiB. Remembers the working set of each pod. */
  async memoryMiB(): Promise<number> {
    const pods = await measurePods(this.objects, this.signal);
    this.memory.push(pods);
    return sumMiB(pods);
  }

  async warm(): Promise<void> {
    if (this.isResident) this.hintsBefore = await hintsOf(this.objects);
  }

  /** A run's pod does not exist for long, so its log is read at once. */
  async passed({ name, sentAt }: Passage): Promise<void> {
    if (!this.form.stages || this.isResident) return;
    const lines = await readLogs(this.objects, RUN, performance.timeOrigin + sentAt);
    const own = lines.filter(({ time }) => time >= performance.timeOrigin + sentAt);
    const [first] = own;
    if (first) this.podStarts.set(name, first.time);
    this.runLines.push(...own);
  }

  async oneByOne(passages: readonly Passage[]): Promise<void> {
    const { stages } = this.form;
    const since = performance.timeOrigin + (passages[0]?.sentAt ?? 0);
    if (!stages) return;
    const sensor = await this.sensorLog(passages.length, since);
    const eventSource = await readLogs(this.objects, EVENT_SOURCE, since);
    const runner = this.isResident ? await readLogs(this.objects, RESIDENT_RUNNER, since) : this.runLines;
    const moments = momentsOf(passages, { eventSource, sensor, runner }, performance.timeOrigin);
    const all = passages.map(({ name }, index): Moments => {
      const podStarted = this.podStarts.get(name);
      return { ...moments[index], ...(podStarted !== undefined && { podStarted }) };
    });
    this.stages = stageFigures(stages, all);
    if (this.hintsBefore) this.hints = hintsBetween(this.hintsBefore, await hintsOf(this.objects));
  }

  async burstBegins(): Promise<void> {
    this.callsBefore = await countApiCalls(this.objects);
  }

  async burstSettled(): Promise<void> {
    this.callsAfter = await countApiCalls(this.objects);
  }

  /** All observations, for a burst of a number of objects. */
  observations(burst: number): Observations {
    const [idle = [], loaded = []] = this.memory;
    return {
      idle,
      loaded,
      apiCalls: callsPerChange(this.callsBefore, this.callsAfter, burst),
      stages: this.stages,
      ...(this.hints && { hints: this.hints }),
    };
  }

  private get isResident(): boolean {
    return this.form.name.startsWith("resident");
  }

  /** The sensor's log, as soon as it has reported as many events as there are objects. */
  private async sensorLog(objects: number, since: number): Promise<LogLine[]> {
    const deadline = Date.now() + LATE_EVENTS_MS;
    for (;;) {
      const lines = await readLogs(this.objects, SENSOR, since);
      if (processedEvents(lines) >= objects || Date.now() > deadline) return lines;
      await sleep(POLL_MS, undefined, { signal: this.signal });
    }
  }
}
