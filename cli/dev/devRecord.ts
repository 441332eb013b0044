import type { Manifest } from "../../runtime/base/objects";
import {
  buildRecordedRun,
  isRecorded,
  logReport,
  logTo,
  type Operator,
  type ReconcileReport,
  recordNameOf,
  resourceOf,
} from "../../runtime/cli";
import { type DevLine, KIND_ANNOTATION } from "../inspect/inDev";

/** The most runs and lines that are kept, and their bytes as JSON. */
const MOST_RUNS = { count: 500, bytes: 4 * 2 ** 20 };
const MOST_LINES = { count: 5_000, bytes: 2 ** 20 };

/** What a pod would be called. */
const POD = "argosy-dev";

/** Where the engine of an operator writes. */
export interface EngineRecord {
  report(report: ReconcileReport): void;
  /** What the engine says of no object. */
  notice(text: string): void;
  /** What the handler writes to standard error between two requests. */
  handlerLog(text: string): void;
}

/**
 * The last runs and the last lines of the operators that `argosy dev` runs, as `argosy runs` and `argosy logs` find them in a
 * cluster: the runs as Workflows, the lines as the runner's and the handler's containers write them.
 *
 * Guarantee (tests/unit/cliDevServer.test.ts): it takes at most 5 MiB, whatever handlers write.
 */
export class DevRecord {
  private readonly kept = new Bounded<{ readonly report: string; readonly run: Manifest }>(MOST_RUNS);
  private readonly written = new Bounded<DevLine>(MOST_LINES);
  private lines = 0;

  /** The runs, the oldest first. */
  runs(): Manifest[] {
    return this.kept.values().map(({ run }) => run);
  }

  /** The run of a report. Undefined if it is not recorded, or no longer. */
  runOf({ id }: ReconcileReport): Manifest | undefined {
    return this.kept.values().find(({ report }) => report === id)?.run;
  }

  /** The lines after the one with this number, which is 0 before the first. */
  linesAfter(number: number): DevLine[] {
    return this.written.values().filter((line) => line.number > number);
  }

  /** @param home the namespace of the operator's runner, where a cluster would have its runs */
  of(operator: Operator, home: string): EngineRecord {
    const { installation, customResource } = operator;
    const { apiVersion, kind } = resourceOf(customResource);
    const place = { namespace: home, installation, instanceId: "", keptSeconds: 0 };
    const keep = (name: string, report: ReconcileReport) => {
      const run = buildRecordedRun({ name, report, finishedAt: new Date() }, place);
      const annotations = { [KIND_ANNOTATION]: `${apiVersion} ${kind}` };
      const kept = { ...run, metadata: { ...run.metadata, annotations } };
      this.kept.add(name, { report: report.id, run: kept });
    };
    const write = (container: string, text: string) => {
      const time = new Date().toISOString();
      const line = { number: ++this.lines, operator: operator.name, pod: POD, container, time, text };
      this.written.add(String(line.number), line);
    };
    const log = logTo((line) => write("runner", line.trimEnd()));
    const handlerLog = (text: string) => {
      for (const line of text.split("\n")) if (line.trim() !== "") write("handler", line);
    };
    return {
      report: (report) => {
        handlerLog(report.log);
        // The same failure again has the same name, and replaces the earlier one.
        const name = isRecorded(report, operator.record) ? recordNameOf(operator.name, report) : undefined;
        logReport(log, report, name);
        if (name !== undefined) keep(name, report);
      },
      notice: (text) => log("info", text),
      handlerLog,
    };
  }
}

/** Values by their keys, of which the oldest are dropped. */
class Bounded<T> {
  private readonly entries = new Map<string, { value: T; bytes: number }>();
  private bytes = 0;

  constructor(private readonly most: { readonly count: number; readonly bytes: number }) {}

  values(): T[] {
    return [...this.entries.values()].map(({ value }) => value);
  }

  add(key: string, value: T): void {
    this.drop(key);
    const bytes = Buffer.byteLength(JSON.stringify(value));
    this.entries.set(key, { value, bytes });
    this.bytes += bytes;
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.most.count && this.bytes <= this.most.bytes) return;
      this.drop(oldest);
    }
  }

  private drop(key: string): void {
    this.bytes -= this.entries.get(key)?.bytes ?? 0;
    this.entries.delete(key);
  }
}
