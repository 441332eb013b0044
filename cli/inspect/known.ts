import { z } from "zod";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { RolloutState } from "../../runtime/cli";
import type { InstalledOperators } from "./readInstalled";
import type { Unled } from "./runner";
import type { Run } from "./runs";

/** The schema of an {@link ObjectEvent}. */
export const OBJECT_EVENT = z.strictObject({
  type: z.string(),
  reason: z.string(),
  note: z.string().optional(),
  count: z.number().describe("How often it has happened."),
  lastAt: z.string().optional().describe("When it last happened, as RFC 3339."),
  nextAttempt: z
    .number()
    .optional()
    .describe("The number of the try that follows the failure. Left out if it is about no failure."),
  nextTry: z.string().optional().describe("By when that try comes even if nothing changes, as RFC 3339."),
});

/** A Kubernetes Event about an object. */
export type ObjectEvent = Readonly<z.infer<typeof OBJECT_EVENT>>;

/** All facts from which an explanation is made. Among the operators are also those that `argosy dev` runs. */
export interface Known extends InstalledOperators {
  readonly object: KubernetesObject;
  /** An operator's Memory of an object that others own. Undefined if there is none. */
  readonly memory?: KubernetesObject | undefined;
  /** Whether {@link memory} could be read. @default true */
  readonly memoryRead?: boolean;
  /** The pod that leads the operator. Undefined if none does, or if that cannot be read. */
  readonly leader?: string | undefined;
  /** How far the staged roll-out of the operator's version has come. Undefined if it has none, or if that cannot be read. */
  readonly rollout?: RolloutState | undefined;
  /** That no runner of a resident operator leads, and why. Undefined if one leads, or if that cannot be read. */
  readonly unled?: Unled | undefined;
  /** Warnings about the object, the newest first. */
  readonly events: readonly ObjectEvent[];
  /** Its runs, the newest first. */
  readonly runs: readonly Run[];
  /** Children elsewhere that still exist, as "ConfigMap team-a/settings". */
  readonly childrenElsewhere: readonly string[];
  readonly now: Date;
}
