/**
 * How long a pod of a run may take to begin: images are pulled in it. And how long either of its containers then waits
 * for the other, which may have failed to start. In seconds.
 */
export const PENDING_SECONDS = 300;
/** For how long the engine waits for its handler's container: less than the pod may take, so that it can say so. In seconds. */
export const HANDLER_SECONDS = PENDING_SECONDS - 30;
/** What a run may take beside the handler's answer: to read, to apply, to tell. In seconds. */
const WORK_SECONDS = 60;

/**
 * The longest that one try of a run takes from when it has begun, in seconds. The deadline of its Workflow has room for
 * two: a run may begin a further reconcile for so long.
 */
export function runSeconds({ timeoutSeconds }: { readonly timeoutSeconds: number }): number {
  return timeoutSeconds + WORK_SECONDS;
}
