import { Turns } from "../work/turns";
import { type TrialOptions, type TrialResult, tryHandler } from "./trial";

/** The most trials at once. Each takes a handler process from the objects. */
const MOST_AT_ONCE = 2;

/** The trials of one operator. They take turns, so that they leave handler processes to the objects. */
export class Trials {
  private readonly turns = new Turns();
  private count = 0;

  constructor(private readonly options: TrialOptions) {}

  /**
   * Tries the handler on an example of the custom resource as {@link tryHandler} does, when earlier trials have ended.
   * @throws as {@link tryHandler}
   */
  async run(object: unknown, used: unknown): Promise<TrialResult> {
    const turn = String(this.count++ % Math.min(MOST_AT_ONCE, this.options.operator.concurrency));
    return this.turns.take(turn, () => tryHandler(this.options, object, used));
  }
}
