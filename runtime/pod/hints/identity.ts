import { randomUUID } from "node:crypto";
import type { RunnerEnvironment } from "../environment";

/**
 * The identity of a runner in the Lease: `<pod>_<address>_<uuid>`. Neither a pod's name nor an address can have an underscore.
 * The address is for the standby, which may read the Lease but no pods. The uuid distinguishes a container from the one that it
 * replaced in the same pod.
 */
export function runnerIdentityOf({ pod, address }: Pick<RunnerEnvironment, "pod" | "address">): string {
  return `${pod}_${address}_${randomUUID()}`;
}

/** The address of the runner with this identity. Undefined if it is not one that {@link runnerIdentityOf} made. */
export function addressIn(identity: string): string | undefined {
  const [, address, unique, ...more] = identity.split("_");
  return address && unique && more.length === 0 ? address : undefined;
}
