import type { Operator } from "../../runtime/cli";

/** How much longer a container takes to start than a process in a pod whose container is already running, in seconds. */
const BEGINS_SECONDS = 10;

/** How long a handler in a container may take to answer, in seconds. */
export function secondsInImage({ timeoutSeconds }: Pick<Operator, "timeoutSeconds">): number {
  return timeoutSeconds + BEGINS_SECONDS;
}
