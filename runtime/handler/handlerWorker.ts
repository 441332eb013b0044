import { randomUUID } from "node:crypto";
import { type FailureReason, ReconcileFailure } from "../failure";
import { jsonOf } from "../json/flaw";
import { LineSplitter, LineTooLongError } from "../text/lines";
import type { HandlerQuestion } from "./contract";
import type { HandlerExit, HandlerProcess, HandlerTransport } from "./handlerTransport";
import { LogTail } from "./logTail";
import { type AnswerLine, LONGEST_ANSWER_BYTES, readAnswerLine, textOf, unknownId } from "./parseAnswer";

/** How much of a run's standard error is kept, in bytes. Its end is kept, where the error is. */
const KEPT_LOG_BYTES = 8 * 1024;
/** How long a process may take to end by itself, in milliseconds: docs/contract.md. */
const ENDING_MS = 5_000;
const ENDED_BEFORE = "the handler was ended before it returned an answer";

/** An answer of any form, with the handler's standard error meanwhile. */
export interface HandlerReply {
  readonly answer: AnswerLine["answer"];
  /** How long the answer is, in characters. */
  readonly length: number;
  readonly log: string;
}

/** The callbacks of a {@link HandlerWorker}. */
export interface HandlerWorkerListener {
  /**
   * Called once, when the process exits, hangs or breaks the contract, but not after {@link HandlerWorker.end}. The failure is
   * undefined if the process ended well and had nothing left to answer.
   */
  over(failure?: ReconcileFailure): void;
  /** Called for each further answer to a request that has been answered. The answer is discarded. */
  lateAnswer?(): void;
}

interface Question {
  readonly id: string;
  resolve(reply: HandlerReply): void;
  reject(error: Error): void;
  readonly timer: NodeJS.Timeout | undefined;
}

/**
 * One running handler process and the conversation with it: one line in, one line out, one at a time.
 *
 * Guarantee (tests/unit/handlerWorker.test.ts, tests/unit/fuzz/processes.test.ts): a line becomes the answer to the request whose id
 * it echoes, and to no other. A line with the id of an earlier request is discarded. A line with any other id, or none, ends the
 * process and fails the request that waits.
 *
 * Assumption: the process cannot guess an id, since each has 122 random bits.
 *
 * Caveat: a process may still answer the right request with another object's children: nobody can see that.
 */
export class HandlerWorker {
  private readonly lines = new LineSplitter(LONGEST_ANSWER_BYTES, textOf);
  private readonly process: HandlerProcess;
  /** Each id of this process is this nonce and a number that counts the requests. */
  private readonly nonce = randomUUID();
  private asked = 0;
  private question: Question | undefined;
  /** The answer to the question, between its arrival and the end of that turn of the event loop. */
  private answer: Pick<HandlerReply, "answer" | "length"> | undefined;
  private readonly log = new LogTail(KEPT_LOG_BYTES);
  private over = false;
  /** Why the process cannot be asked any more. Undefined if it can be asked, or if it ended well. */
  private failure: Error | undefined;
  private markGone: () => void = () => {};
  private readonly gone = new Promise<void>((resolve) => {
    this.markGone = resolve;
  });

  constructor(
    transport: HandlerTransport,
    private readonly listener: HandlerWorkerListener,
  ) {
    this.process = transport.start({
      output: (chunk) => this.receive(chunk),
      log: (chunk) => this.log.keep(chunk),
      exited: (exit) => this.exited(exit),
    });
  }

  /** Whether the process was given up or ended, so that it cannot be asked any more. */
  get isOver(): boolean {
    return this.over;
  }

  /**
   * Asks the process, with an id of its own for this request, and waits for the answer that echoes it.
   * @param timeoutMs after this long without an answer, the process group is killed. Infinity: never
   * @throws ReconcileFailure if the process crashes, hangs, or writes a line that answers no request
   */
  async ask(question: HandlerQuestion, timeoutMs: number): Promise<HandlerReply> {
    // The process may have ended since it was chosen for this request.
    if (this.over) throw this.failure ?? new ReconcileFailure("HandlerCrashed", ENDED_BEFORE);
    const id = `${this.nonce}/${this.asked + 1}`;
    const { apiVersion, ...more } = question;
    const line = jsonOf({ apiVersion, id, ...more });
    if (line === undefined) {
      const message = "the object or a child of it is nested too deeply for a request to a handler";
      throw new ReconcileFailure("HandlerNotStarted", message, { permanent: true });
    }
    // What the process wrote before its first question is part of the first answer's log.
    if (this.asked > 0) this.log.clear();
    this.asked++;
    return new Promise((resolve, reject) => {
      const late = () =>
        this.fail(
          "HandlerTimedOut",
          `the handler gave no answer within ${timeoutMs / 1000} s (timeoutSeconds) and was killed${this.unfinished}`,
        );
      const timer = Number.isFinite(timeoutMs) ? setTimeout(late, timeoutMs) : undefined;
      this.question = { id, resolve, reject, timer };
      this.process.write(`${line}\n`);
    });
  }

  /**
   * Lets the process end by itself, as the contract says, and kills it if it has not ended within `graceMs`. A question that it
   * has not answered fails. Resolves when the process has gone, even if it was given up before.
   */
  end(graceMs = ENDING_MS): Promise<void> {
    if (!this.over) {
      this.over = true;
      this.process.end();
      const timer = setTimeout(() => this.process.kill(), graceMs);
      void this.gone.then(() => clearTimeout(timer));
      this.refuse(new ReconcileFailure("HandlerCrashed", ENDED_BEFORE));
    }
    return this.gone;
  }

  /** Kills the process group at once. A question that it has not answered fails with this reason, and no failure is reported. */
  abandon(reason: Error): void {
    if (this.over) return;
    this.over = true;
    this.failure = reason;
    this.process.kill();
    this.refuse(reason);
  }

  private receive(chunk: Buffer): void {
    if (this.over) return;
    try {
      for (const line of this.lines.push(chunk)) this.take(line);
    } catch (error) {
      if (error instanceof ReconcileFailure) return this.fail(error.reason, error.message);
      if (!(error instanceof LineTooLongError)) {
        // The code that shows the line in a message is not made for any depth.
        return this.fail("InvalidAnswer", "the handler wrote a line that is nested too deeply to be read");
      }
      this.fail("InvalidAnswer", `the handler's answer is longer than ${error.limitBytes / 1024 / 1024} MiB`);
    }
  }

  private take(line: string): void {
    const { id, answer } = readAnswerLine(line);
    if (this.question && id === this.question.id && this.answer === undefined) {
      this.answer = { answer, length: line.length };
      // The rest of this turn of the event loop brings the log, which has a pipe of its own.
      setImmediate(() => this.deliver());
    } else if (this.wasAsked(id)) this.listener.lateAnswer?.();
    else throw unknownId(line, id);
  }

  /** Whether an id is of a request to this process. */
  private wasAsked(id: unknown): boolean {
    if (typeof id !== "string" || !id.startsWith(`${this.nonce}/`)) return false;
    const number = id.slice(this.nonce.length + 1);
    return /^[1-9]\d*$/.test(number) && Number(number) <= this.asked;
  }

  private deliver(): void {
    const { question, answer } = this;
    if (!question || answer === undefined) return;
    this.question = this.answer = undefined;
    clearTimeout(question.timer);
    question.resolve({ ...answer, log: this.log.text() });
  }

  private exited({ code, signal, startError }: HandlerExit): void {
    this.markGone();
    // A process that answers one line and ends has answered, however soon its end is noticed.
    if (code === 0) this.deliver();
    if (startError) this.fail("HandlerNotStarted", `the handler could not be started: ${startError.message}`);
    else if (code === 0 && !this.question) this.giveUp();
    else
      this.fail(
        "HandlerCrashed",
        `the handler ended with ${signal ? `signal ${signal}` : `exit code ${code}`}${this.unfinished}`,
      );
  }

  /** What to say of a line that has begun and not ended. Many forget the line feed. */
  private get unfinished(): string {
    const { unfinishedBytes } = this.lines;
    if (unfinishedBytes === 0) return "";
    return `. It wrote ${unfinishedBytes} bytes of an answer, but no line feed: end each answer with a line feed, and flush it`;
  }

  private fail(reason: FailureReason, message: string): void {
    this.giveUp(new ReconcileFailure(reason, message, { log: this.log.text() }));
  }

  private giveUp(failure?: ReconcileFailure): void {
    if (this.over) return;
    this.over = true;
    this.failure = failure;
    this.process.kill();
    if (failure) this.refuse(failure);
    this.listener.over(failure);
  }

  private refuse(reason: Error): void {
    clearTimeout(this.question?.timer);
    this.question?.reject(reason);
    this.question = this.answer = undefined;
  }
}
