/**
 * How long the pod of a run may take to begin, in seconds. Its images may have to be pulled. Each of its two containers then
 * waits for the same time for the other, which may have failed to start.
 */
export const PENDING_SECONDS = 300;
/**
 * How long the engine waits for its handler's container, in seconds: less than the pod may take, so that the engine
 * can say so.
 */
export const HANDLER_SECONDS = PENDING_SECONDS - 30;
/** The time of a run in addition to the handler's answer, in seconds: to read, to apply, to report. */
const WORK_SECONDS = 60;

/**
 * The longest time that one try of a run takes after it has begun, in seconds. The deadline of its Workflow has room
 * for two, since a run may begin another reconcile until then.
 */
export function runSeconds({ timeoutSeconds }: { readonly timeoutSeconds: number }): number {
  return timeoutSeconds + WORK_SECONDS;
}
