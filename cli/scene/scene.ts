import { DeadlineError } from "../until";

/** One step of the scene: what it proves, and how. */
export interface Step<Stage> {
  /** The sentence that it proves. */
  readonly title: string;
  /**
   * Plays it. Gives what was seen, in a few words.
   * @throws NotHeldError, or anything else, where the sentence does not hold
   */
  play(stage: Stage): Promise<string>;
}

/** How a step went. */
export interface StepResult {
  readonly title: string;
  readonly held: boolean;
  /** What was seen. */
  readonly seen: string;
  /** Where it did not hold: what should have been seen. */
  readonly expected?: string;
  readonly durationMs: number;
}

/** The result of a step differs from the expected one. */
export class NotHeldError extends Error {
  constructor(
    readonly expected: string,
    readonly seen: string,
  ) {
    super(`expected ${expected}, saw ${seen}`);
    this.name = "NotHeldError";
  }
}

/** Receives the progress of a scene. */
export interface Audience {
  /** A step takes more than two seconds. */
  waiting(title: string): void;
  played(result: StepResult): void;
}

const PATIENCE_MS = 2_000;

/**
 * Plays the steps one after another, up to the first that does not hold: those after it build on it.
 *
 * @returns the results of those that were played
 * @throws the signal's reason
 */
export async function playScene<Stage>(
  steps: readonly Step<Stage>[],
  stage: Stage,
  audience: Audience,
  signal: AbortSignal,
): Promise<StepResult[]> {
  const results: StepResult[] = [];
  for (const step of steps) {
    signal.throwIfAborted();
    const timer = setTimeout(() => audience.waiting(step.title), PATIENCE_MS);
    const result = await playStep(step, stage).finally(() => clearTimeout(timer));
    signal.throwIfAborted();
    results.push(result);
    audience.played(result);
    if (!result.held) break;
  }
  return results;
}

async function playStep<Stage>({ title, play }: Step<Stage>, stage: Stage): Promise<StepResult> {
  const startedAt = performance.now();
  const durationMs = () => Math.round(performance.now() - startedAt);
  try {
    const seen = await play(stage);
    return { title, held: true, seen, durationMs: durationMs() };
  } catch (error) {
    return { title, held: false, ...reasonsOf(error), durationMs: durationMs() };
  }
}

function reasonsOf(error: unknown): { expected: string; seen: string } {
  if (error instanceof NotHeldError) return { expected: error.expected, seen: error.seen };
  if (error instanceof DeadlineError) return { expected: error.what, seen: "nothing of it in time" };
  return { expected: "no error", seen: error instanceof Error ? error.message : String(error) };
}
