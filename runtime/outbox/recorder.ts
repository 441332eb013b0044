import type { ReconcileReport } from "../reconcile/report";

/** The record of a run, which becomes a Workflow. */
export interface RunRecord {
  /** The Workflow's name. */
  readonly name: string;
  readonly isFailure: boolean;
}

/** Decides which runs are recorded, and writes their records. */
export interface Recorder {
  /** The record of a run, which has the same name each time. Undefined if the run is not to be recorded. */
  recordOf(report: ReconcileReport): RunRecord | undefined;
  /** Joins two records into one record of both runs. The earlier record may have been written all the same. */
  readonly join: (earlier: RunRecord, later: RunRecord) => RunRecord;
  /**
   * Writes a record.
   * @returns whether it exists now. False if the API server will never take it
   * @throws ApiError, ApiUnreachableError if it must be tried again
   */
  readonly write: (record: RunRecord) => Promise<boolean>;
  /** Called for a record that will not be written. */
  drop(reason: string): void;
  /** Records written. */
  readonly recorded: number;
  /** Runs without a record of their own, because the record of another run includes them. */
  readonly coalesced: number;
  /** Runs that were not written and never will be. */
  readonly dropped: number;
}
