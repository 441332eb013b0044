import type { PlannedFault } from "./plan";

/** A kind of thing that goes wrong. */
export interface Fault {
  /** What goes wrong and with what, as in "freeze the sensor": the name under which the figures stand. */
  readonly kind: string;
  /**
   * Begins it. It may take its own time: what it does at once is over when this resolves.
   * @returns ends it, after its time; nothing where it needs no end
   */
  begin(planned: PlannedFault): Promise<FaultEnd | undefined>;
}

/** Ends a fault. */
export type FaultEnd = () => Promise<void>;

/** A fault that cannot be had here. */
export interface LeftOut {
  readonly kind: string;
  readonly why: string;
}
