import type { KubernetesObject } from "../../runtime/base/objects";
import type { RolloutState } from "../../runtime/cli";
import type { InstalledOperators } from "./readInstalled";
import type { Unled } from "./runner";
import type { Run } from "./runs";

/** A Kubernetes Event about an object. */
export interface ObjectEvent {
  readonly type: string;
  readonly reason: string;
  readonly note?: string | undefined;
  /** How often it has happened. */
  readonly count: number;
  /** When it last happened, as RFC 3339. */
  readonly lastAt?: string | undefined;
  /** The number of the try that follows the failure. Undefined if it is about no failure. */
  readonly nextAttempt?: number | undefined;
  /** By when that try comes even if nothing changes, as RFC 3339. */
  readonly nextTry?: string | undefined;
}

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
