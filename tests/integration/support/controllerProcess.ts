import { type ChildProcess, fork } from "node:child_process";
import path from "node:path";
import type { Operator } from "../../../runtime/operator/definition";
import type { ReconcileReport } from "../../../runtime/reconcile/report";
import type { TestOperator } from "./testOperator";

/** What the entry of the process is told: plain data. */
export interface ControllerProcessInput {
  readonly operator: Operator;
  readonly connection: { readonly server: string; readonly certificateAuthority: string };
  readonly token: string;
  readonly namespace: string;
  readonly identity: string;
  readonly leaseSeconds: number;
}

/** A report as it comes out of the process. */
export type ProcessReport = Pick<ReconcileReport, "name" | "generation" | "result" | "skipped">;

/** What the process tells. */
export type ControllerProcessOutput =
  | { readonly report: ProcessReport }
  | { readonly notice: string }
  | { readonly fault: string };

/** A controller in a process of its own, which can be frozen and killed as no part of this process can. */
export class ControllerProcess {
  readonly reports: ProcessReport[] = [];
  readonly notices: string[] = [];
  /** The errors that were not caught in there. */
  readonly faults: string[] = [];

  private constructor(private readonly process: ChildProcess) {
    process.on("message", (output: ControllerProcessOutput) => {
      if ("report" in output) this.reports.push(output.report);
      else if ("notice" in output) this.notices.push(output.notice);
      else this.faults.push(output.fault);
    });
  }

  /** Starts a controller of an operator; it stands for election a moment later. */
  static async start(
    { operator, connection, runnerNamespace }: TestOperator,
    { identity, leaseSeconds }: Pick<ControllerProcessInput, "identity" | "leaseSeconds">,
  ): Promise<ControllerProcess> {
    const input: ControllerProcessInput = {
      operator,
      connection: {
        server: connection.server,
        certificateAuthority: String(connection.certificateAuthority ?? ""),
      },
      token: (await connection.token?.()) ?? "",
      namespace: runnerNamespace,
      identity,
      leaseSeconds,
    };
    const child = fork(path.join(__dirname, "controllerEntry.ts"), {
      execArgv: ["--require", "tsx/cjs"],
    });
    const controller = new ControllerProcess(child);
    child.send(input);
    return controller;
  }

  /** The reports of one object. */
  reportsOf(name: string): ProcessReport[] {
    return this.reports.filter((report) => report.name === name);
  }

  /** Stops its time: it notices nothing of what happens until {@link thaw}. Its handler goes on. */
  freeze(): void {
    this.process.kill("SIGSTOP");
  }

  thaw(): void {
    this.process.kill("SIGCONT");
  }

  /** Ends it as a crash of its machine would: it gives nothing up. Resolves when it has gone. Idempotent. */
  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.process;
    if (exitCode !== null || signalCode !== null) return;
    const gone = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGKILL");
    await gone;
  }
}
