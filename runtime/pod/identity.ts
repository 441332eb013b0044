import { randomUUID } from "node:crypto";
import type { RunnerEnvironment } from "./environment";

/**
 * Who a runner is in the Lease: `<pod>_<address>_<uuid>`. None of the first two can have an underscore. The address is
 * there for the standby, which may read the Lease but no pods; the rest tells a container from the one that it
 * replaced in the same pod.
 */
export function identityOf({ pod, address }: Pick<RunnerEnvironment, "pod" | "address">): string {
  return `${pod}_${address}_${randomUUID()}`;
}

/** The address of the runner with this identity; undefined where it is not one that {@link identityOf} made. */
export function addressIn(identity: string): string | undefined {
  const [, address, unique, ...more] = identity.split("_");
  return address && unique && more.length === 0 ? address : undefined;
}
