import type { PlannedFault } from "./plan";

/** A kind of fault. */
export interface Fault {
  /** The fault and the affected part, as in "freeze the sensor". This is its name in the figures. */
  readonly kind: string;
  /**
   * Begins the fault, which may take some time. An instantaneous fault is over when this resolves.
   * @returns a function that ends the fault. Undefined if it needs no end
   */
  begin(planned: PlannedFault): Promise<FaultEnd | undefined>;
}

/** Ends a fault. */
export type FaultEnd = () => Promise<void>;

/** A fault that is not possible here. */
export interface LeftOut {
  readonly kind: string;
  readonly why: string;
}
