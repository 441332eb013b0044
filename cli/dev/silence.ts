import type { Operator } from "../../runtime/definition/definition";
import { isRecord } from "../../runtime/json";
import { formatName, type ObjectName } from "../../runtime/kubernetes/objects";
import { secondsInImage } from "../containers/patience";

/** After this long without an answer it is said, in milliseconds: a handler that asks something outside may take a while. */
const FIRST_MS = 5_000;
/** Said again after this many times as long. */
const FACTOR = 3;

/** A handler that has not answered yet. */
export interface Silence {
  /** The object that it was asked about, as "shop/sessions". */
  readonly object: string;
  readonly seconds: number;
}

/**
 * Waits for the answer to a request, and says when it has not come: after 5 s, and then more and more seldom.
 *
 * @param request the line that the handler was given
 * @param firstMs when it is said first. @default 5000
 * @returns to be called when the answer has come, or never will
 */
export function untilAnswered(
  request: string,
  onSilence: (silence: Silence) => void,
  firstMs = FIRST_MS,
): () => void {
  const since = performance.now();
  let timer: NodeJS.Timeout;
  const wait = (ms: number) => {
    timer = setTimeout(() => {
      onSilence({
        object: objectOf(request),
        seconds: Math.round((performance.now() - since) / 1000),
      });
      wait(ms * FACTOR);
    }, ms);
    // What waits for an answer keeps the process, not what counts the time.
    timer.unref();
  };
  wait(firstMs);
  return () => clearTimeout(timer);
}

/** Says that a handler has not answered, what becomes of it and what of the others. */
export function formatSilence(operator: Operator, { object, seconds }: Silence, isInImage: boolean): string {
  const { name, concurrency, timeoutSeconds } = operator;
  const limit = isInImage
    ? `${secondsInImage(operator)} s (timeoutSeconds, and what a container takes to begin)`
    : `${timeoutSeconds} s (timeoutSeconds)`;
  const others =
    concurrency === 1
      ? "This operator's other objects wait, since concurrency is 1."
      : "Other objects do not wait for it.";
  return `${name}: the handler has not answered about ${object} for ${seconds} s. ${others} It is ended after ${limit}.`;
}

function objectOf(request: string): string {
  const { object } = JSON.parse(request) as { object?: unknown };
  const metadata = isRecord(object) ? object["metadata"] : undefined;
  return isRecord(metadata) ? formatName(metadata as unknown as ObjectName) : "an object";
}
