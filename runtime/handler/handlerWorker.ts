import { type FailureReason, ReconcileFailure } from "../failure";
import { LineSplitter, type LineTooLongError } from "../lines";
import type { HandlerExit, HandlerProcess, HandlerTransport } from "./handlerTransport";
import { type Conversation, LONGEST_ANSWER_BYTES } from "./parseAnswer";

/** How much of a run's standard error is kept: its end, where the error is. */
const KEPT_LOG_BYTES = 8 * 1024;
/**
 * How long a process must have said nothing after its answer before it is asked again: a second line that comes
 * later than the first would otherwise be taken for the answer to the next question, about another object. Not where its
 * answers tell by themselves which question they answer: see {@link Conversation}.
 */
export const QUIET_MS = 5;

/** An answer, with what the handler wrote to standard error meanwhile. */
export interface HandlerReply {
  readonly line: string;
  readonly log: string;
}

interface Question {
  resolve(reply: HandlerReply): void;
  reject(failure: ReconcileFailure): void;
  readonly timer: NodeJS.Timeout;
  /** The answer, between its arrival and the end of that turn of the event loop. */
  answer?: string;
}

/** One living handler process and the conversation with it: one line in, one line out, one at a time. */
export class HandlerWorker {
  /** Kept up by whoever reads its answers. */
  readonly conversation: Conversation = { identified: false };
  private readonly lines = new LineSplitter(LONGEST_ANSWER_BYTES);
  private readonly process: HandlerProcess;
  private question: Question | undefined;
  private logTail = Buffer.alloc(0);
  private answeredAt = Number.NEGATIVE_INFINITY;
  private over = false;
  private markGone: () => void = () => {};
  private readonly gone = new Promise<void>((resolve) => {
    this.markGone = resolve;
  });

  /**
   * @param onOver called once, when the process exits, hangs or breaks the contract; not after {@link end}. Without a
   *   failure where it ended well, with nothing left to answer
   */
  constructor(
    transport: HandlerTransport,
    private readonly onOver: (failure?: ReconcileFailure) => void,
  ) {
    this.process = transport.start({
      output: (chunk) => this.receive(chunk),
      log: (chunk) => this.keepLog(chunk),
      exited: (exit) => this.exited(exit),
    });
  }

  /** Whether it was given up or ended: it cannot be asked any more. */
  get isOver(): boolean {
    return this.over;
  }

  /** Whether it has been quiet for long enough since its last answer, or need not be. */
  get isQuiet(): boolean {
    return this.conversation.identified || performance.now() - this.answeredAt >= QUIET_MS;
  }

  /**
   * Sends a line and waits for the answer.
   * @param timeoutMs after this long without an answer, the process group is killed
   * @throws ReconcileFailure where the process crashes, hangs, or answers more than one line
   */
  ask(line: string, timeoutMs: number): Promise<HandlerReply> {
    // What it said while it began is part of the first answer's log.
    if (this.answeredAt !== Number.NEGATIVE_INFINITY) this.logTail = Buffer.alloc(0);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.fail(
          "HandlerTimedOut",
          `the handler gave no answer within ${timeoutMs / 1000} s and was killed`,
        );
      }, timeoutMs);
      this.question = { resolve, reject, timer };
      this.process.write(`${line}\n`);
    });
  }

  /**
   * Lets the process end by itself, as the contract has it, and kills it where it has not within `graceMs`. What it
   * is being asked fails. Resolves when the process has gone, also one that was given up before.
   */
  end(graceMs = 5_000): Promise<void> {
    if (!this.over) {
      this.over = true;
      this.process.end();
      const timer = setTimeout(() => this.process.kill(), graceMs);
      void this.gone.then(() => clearTimeout(timer));
      this.refuse(new ReconcileFailure("HandlerCrashed", "the handler was ended before it answered"));
    }
    return this.gone;
  }

  private receive(chunk: Buffer): void {
    if (this.over) return;
    let lines: string[];
    try {
      lines = this.lines.push(chunk);
    } catch (error) {
      const limitMiB = (error as LineTooLongError).limitBytes / 1024 / 1024;
      return this.fail("InvalidAnswer", `the handler's answer is longer than ${limitMiB} MiB`);
    }
    const [answer] = lines;
    const unasked = !this.question || this.question.answer !== undefined;
    if (unasked || lines.length > 1 || (answer !== undefined && this.lines.unfinishedBytes > 0)) {
      return this.fail("InvalidAnswer", "the handler wrote more than one line for one request");
    }
    if (answer === undefined || !this.question) return;
    this.question.answer = answer;
    // The rest of this turn of the event loop brings the log, which has a pipe of its own, and a second line.
    setImmediate(() => this.settle());
  }

  private settle(): void {
    const { question } = this;
    if (question?.answer === undefined) return;
    this.question = undefined;
    this.answeredAt = performance.now();
    clearTimeout(question.timer);
    question.resolve({ line: question.answer, log: this.logTail.toString("utf8") });
  }

  private keepLog(chunk: Buffer): void {
    const joined = Buffer.concat([this.logTail, chunk]);
    this.logTail = joined.subarray(Math.max(0, joined.length - KEPT_LOG_BYTES));
  }

  private exited({ code, signal, startError }: HandlerExit): void {
    this.markGone();
    // One that answers one line and ends has answered, however soon its end is noticed.
    if (code === 0) this.settle();
    if (startError) this.fail("HandlerNotStarted", `the handler could not be started: ${startError.message}`);
    else if (code === 0 && !this.question) this.giveUp();
    else
      this.fail(
        "HandlerCrashed",
        `the handler ended with ${signal ? `signal ${signal}` : `exit code ${code}`}`,
      );
  }

  private fail(reason: FailureReason, message: string): void {
    this.giveUp(new ReconcileFailure(reason, message, { log: this.logTail.toString("utf8") }));
  }

  private giveUp(failure?: ReconcileFailure): void {
    if (this.over) return;
    this.over = true;
    this.process.kill();
    if (failure) this.refuse(failure);
    this.onOver(failure);
  }

  private refuse(failure: ReconcileFailure): void {
    clearTimeout(this.question?.timer);
    this.question?.reject(failure);
    this.question = undefined;
  }
}
