/**
 * How a product of Argo comes into the cluster.
 * "install": its CRDs and a controller of our own. "share": the CRDs are there, the controller is our own.
 * "adopt": both are there.
 */
export type Installation = "install" | "share" | "adopt";

/** What the event path and the operators need to know of the platform beneath them: the platform stack's output. */
export interface Platform {
  /** Where operators, their events and their runs live; Argo's controllers look after this one namespace. */
  readonly namespace: string;
  /** The Workflow controller's instance id: it handles only Workflows that carry it as a label. "" for none. */
  readonly instanceId: string;
  /** The JetStream version of the event bus, one that the events controller's configuration knows. */
  readonly jetStreamVersion: string;
  /**
   * Whether the Workflow controller archives runs: then it is given those that a resident operator records as well.
   * @default false
   */
  readonly archivesRuns?: boolean;
}
