import { percentile } from "../figures";

/** The name of a moment in the handling of an object. */
export type MomentName =
  /** Just before the create call. */
  | "sent"
  /** The create call was answered. */
  | "answered"
  /** The event source's watch reported the object. */
  | "detected"
  /** Its event is on the bus. */
  | "published"
  /** The sensor has received the event from the bus, and it has passed the filter. */
  | "triggered"
  /** The sensor is about to call: the runner, or the API server for a Workflow. */
  | "requested"
  /** That call was answered. */
  | "processed"
  /** The run's pod writes its first line. */
  | "podStarted"
  /** The runner has begun the object's run. */
  | "runBegun"
  /** The run has ended, including the status. */
  | "runEnded"
  /** A watch showed the Deployment. */
  | "seen";

/** The time of each moment, in milliseconds since the epoch. Moments that were not reported are missing. */
export type Moments = Readonly<Partial<Record<MomentName, number>>> & {
  /** How long the handler took, in milliseconds. */
  readonly handlerMs?: number;
};

/** A stage in the handling of an object. */
export interface Stage {
  readonly title: string;
  /** How long it took, in milliseconds. Undefined if that is not known. */
  readonly of: (moments: Moments) => number | undefined;
}

/** How long a stage took. */
export interface StageFigure {
  readonly title: string;
  /** The median, in milliseconds. */
  readonly p50Ms: number;
  /** The number of objects for which it is known. */
  readonly objects: number;
}

/** A stage between two moments. */
export function between(title: string, from: MomentName, to: MomentName): Stage {
  return {
    title,
    of: (moments) => {
      const [begin, end] = [moments[from], moments[to]];
      return begin === undefined || end === undefined ? undefined : end - begin;
    },
  };
}

/** Each stage over all objects. Stages that no object reports are left out. */
export function stageFigures(stages: readonly Stage[], objects: readonly Moments[]): StageFigure[] {
  return stages.flatMap(({ title, of }) => {
    const spans = objects.map(of).filter((span) => span !== undefined);
    return spans.length === 0 ? [] : [{ title, p50Ms: percentile(spans, 50), objects: spans.length }];
  });
}

const TO_THE_SENSOR: readonly Stage[] = [
  between("create call -> answered", "sent", "answered"),
  between("create call -> event source has it", "sent", "detected"),
  between("event source -> event is on the bus", "detected", "published"),
  between("bus -> sensor, filter passed", "published", "triggered"),
];

const THE_RUN: readonly Stage[] = [
  { title: "run: handler asked -> answered", of: ({ handlerMs }) => handlerMs },
  between("run: begun -> Deployment seen", "runBegun", "seen"),
  between("run: begun -> ended, status written", "runBegun", "runEnded"),
];

const WHOLE = between("create call -> Deployment seen", "sent", "seen");

/** The stages of a resident operator, where the event and its own watch race each other. */
export const RESIDENT_STAGES: readonly Stage[] = [
  ...TO_THE_SENSOR,
  between("sensor -> request to the runner", "triggered", "requested"),
  between("request -> runner's answer", "requested", "processed"),
  between("create call -> event answered by the runner", "sent", "processed"),
  between("create call -> run begun", "sent", "runBegun"),
  ...THE_RUN,
  WHOLE,
];

/** The stages of a run in a pod of its own. */
export const POD_STAGES: readonly Stage[] = [
  ...TO_THE_SENSOR,
  between("sensor -> Workflow created", "triggered", "processed"),
  between("Workflow created -> runner in its pod speaks", "processed", "podStarted"),
  between("runner speaks -> run begun", "podStarted", "runBegun"),
  ...THE_RUN,
  WHOLE,
];
