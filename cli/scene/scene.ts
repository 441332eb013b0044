import { z } from "zod";
import { DeadlineError } from "../common/until";

/** One step of the scene: a statement, and its proof. */
export interface Step<Stage> {
  /** The statement that the step proves. */
  readonly title: string;
  /**
   * Plays the step. Returns a description of the observation, in a few words.
   * @throws NotHeldError, or any other error, if the statement does not hold
   */
  play(stage: Stage): Promise<string>;
}

/** The schema of a {@link StepResult}. */
export const STEP_RESULT = z.strictObject({
  title: z.string(),
  held: z.boolean(),
  seen: z.string().describe("The observation."),
  expected: z.string().optional().describe("The expected observation, if the step did not hold."),
  durationMs: z.number(),
});

/** The result of a step. */
export type StepResult = Readonly<z.infer<typeof STEP_RESULT>>;

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
 * Plays the steps one after another, up to the first that does not hold, because later steps build on it.
 *
 * @returns the results of the steps that were played
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
  if (error instanceof DeadlineError) return { expected: error.what, seen: "nothing in time" };
  return { expected: "no error", seen: error instanceof Error ? error.message : String(error) };
}
