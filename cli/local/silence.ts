import { isRecord } from "../../runtime/base/json";
import { formatName, type ObjectName } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/cli";
import { secondsInImage } from "../containers/patience";

/**
 * After this long without an answer, the silence is reported, in milliseconds. A handler that asks another system may take a
 * while.
 */
const FIRST_MS = 5_000;
/** It is reported again after this many times as much time. */
const FACTOR = 3;

/** A handler that has not answered yet. */
export interface Silence {
  /** The object that it was asked about, as "shop/sessions". */
  readonly object: string;
  readonly seconds: number;
}

/**
 * Waits for the answer to a request, and reports if it has not come: after 5 s, and then less and less often.
 *
 * @param request the line that the handler got
 * @param firstMs after how long it is reported first, in milliseconds.
 * @default 5000
 * @returns a function to call when the answer has come, or never will
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
    // The request keeps the process alive, and this timer does not.
    timer.unref();
  };
  wait(firstMs);
  return () => clearTimeout(timer);
}

/** The text that says that a handler has not answered, and what happens to it and to the others. */
export function formatSilence(operator: Operator, { object, seconds }: Silence, isInImage: boolean): string {
  const { name, concurrency, timeoutSeconds } = operator;
  const limit = isInImage
    ? `${secondsInImage(operator)} s (timeoutSeconds, and the time that a container takes to start)`
    : `${timeoutSeconds} s (timeoutSeconds)`;
  const others =
    concurrency === 1
      ? "This operator's other objects wait, because concurrency is 1."
      : "Other objects do not wait for it.";
  return `${name}: the handler has not returned an answer about ${object} for ${seconds} s. ${others} The handler will be stopped after ${limit}.`;
}

function objectOf(request: string): string {
  const { object } = JSON.parse(request) as { object?: unknown };
  const metadata = isRecord(object) ? object["metadata"] : undefined;
  return isRecord(metadata) ? formatName(metadata as unknown as ObjectName) : "an object";
}
