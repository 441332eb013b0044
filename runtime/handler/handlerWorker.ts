import { randomUUID } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
import { type FailureReason, ReconcileFailure } from "../base/failure";
import { jsonOf } from "../base/json";
import { CUT, cut, LineSplitter, LineTooLongError } from "../base/text";
import type { HandlerQuestion } from "./contract";
import type { HandlerExit, HandlerProcess, HandlerTransport } from "./handlerTransport";
import { type AnswerLine, LONGEST_ANSWER_BYTES, readAnswerLine, textOf, unknownId } from "./parseAnswer";

/** How much of a run's standard error is kept, in bytes. Its end is kept, where the error is. */
export const KEPT_LOG_BYTES = 8 * 1024;
/** How long a process may take to end by itself, in milliseconds: docs/contract.md. */
const ENDING_MS = 5_000;
const ENDED_BEFORE = "the handler was ended before it returned an answer";

/** A question reached no handler, because the process ended after an earlier answer. Another process can be asked. */
export class UnheardError extends Error {}

/** An answer of any form, with what the handler wrote to standard error for it. */
export interface HandlerReply {
  readonly answer: AnswerLine["answer"];
  /** How long the answer is, in characters. */
  readonly length: number;
  readonly log: string;
}

/** The callbacks of a {@link HandlerWorker}. */
interface HandlerWorkerListener {
  /**
   * Called once, when the process exits, hangs or breaks the contract, but not after {@link HandlerWorker.end}. The failure is
   * undefined if the process ended well and had nothing left to answer.
   */
  over(failure?: ReconcileFailure): void;
  /** Called for each further answer to a request that has been answered. The answer is discarded. */
  lateAnswer?(): void;
  /** Follows the message of a timeout. @default nothing */
  readonly hint?: string;
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
 * Caveat: a process may still answer the right request with another object's children. That cannot be detected.
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
  /** Whether the process was given up or ended, so that it cannot be asked any more. */
  isOver = false;
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

  /**
   * Asks the process, with an id of its own for this request, and waits for the answer that echoes it.
   * @param timeoutMs after this long without an answer, the process group is killed. Infinity: never
   * @throws ReconcileFailure if the process crashes, hangs, or writes a line that answers no request
   * @throws UnheardError if it has ended well, or has closed its input, after it has answered earlier requests
   */
  async ask(question: HandlerQuestion, timeoutMs: number): Promise<HandlerReply> {
    // The process may have ended since it was chosen for this request.
    if (this.isOver) throw this.failure ?? new UnheardError(ENDED_BEFORE);
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
          `the handler gave no answer within ${timeoutMs / 1000} s (timeoutSeconds) and was killed${this.unfinished || (this.listener.hint ?? "")}`,
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
    if (!this.isOver) {
      this.isOver = true;
      this.process.end();
      const timer = setTimeout(() => this.process.kill(), graceMs);
      void this.gone.then(() => clearTimeout(timer));
      this.refuse(new ReconcileFailure("HandlerCrashed", ENDED_BEFORE));
    }
    return this.gone;
  }

  /** Kills the process group at once. A question that it has not answered fails with this reason, and no failure is reported. */
  abandon(reason?: Error): void {
    if (this.isOver) return;
    this.isOver = true;
    this.failure = reason;
    this.process.kill();
    if (reason) this.refuse(reason);
  }

  private receive(chunk: Buffer): void {
    if (this.isOver) return;
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

  private exited({ code, signal, startError, isDeaf }: HandlerExit): void {
    this.markGone();
    // A process that answers one line and ends has answered, however soon its end is noticed.
    if (code === 0) this.deliver();
    if (startError) this.fail("HandlerNotStarted", `the handler could not be started: ${startError.message}`);
    else if ((code === 0 || isDeaf) && (!this.question || (this.asked > 1 && this.unfinished === ""))) {
      this.giveUp();
      this.refuse(new UnheardError("the handler took its leave after an earlier answer"));
    } else {
      const how = signal ? `signal ${signal}` : `exit code ${code}`;
      const what = isDeaf
        ? "closed its standard input before its first answer, and was killed"
        : `ended with ${how}`;
      const words = lastWords(this.log.text());
      this.fail("HandlerCrashed", `the handler ${what}${words && `: ${words}`}${this.unfinished}`);
    }
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
    if (this.isOver) return;
    this.abandon(failure);
    this.listener.over(failure);
  }

  private refuse(reason: Error): void {
    clearTimeout(this.question?.timer);
    this.question?.reject(reason);
    this.question = this.answer = undefined;
  }
}

const NEWLINE = 0x0a;

/**
 * The end of a log, in whole lines. A line without its beginning is left out: it may have the end of a Secret's value, which the
 * `Scrubber` could not recognise.
 */
export class LogTail {
  private bytes = Buffer.alloc(0);
  private isCut = false;
  /** Whether the next line has lost its beginning. */
  private isBroken = false;

  /** @param longest how many bytes are kept */
  constructor(private readonly longest: number) {}

  /** Keeps the next bytes. */
  keep(chunk: Buffer): void {
    const joined = Buffer.concat([this.bytes, chunk]);
    const before = Math.max(0, joined.length - this.longest);
    if (before === 0 && !this.isBroken) {
      this.bytes = joined;
      return;
    }
    // A whole line begins after a line end, which may be the last byte that is not kept.
    const lineEnd = joined.indexOf(NEWLINE, Math.max(0, before - 1));
    this.isCut = true;
    this.isBroken = lineEnd < 0;
    this.bytes = lineEnd < 0 ? Buffer.alloc(0) : joined.subarray(lineEnd + 1);
  }

  /** The part that was kept, after {@link CUT} on a line of its own if there was more. */
  text(): string {
    // Leaves out a character of which only a part has arrived.
    const text = new StringDecoder("utf8").write(this.bytes);
    return this.isCut ? `${CUT}\n${text}` : text;
  }

  /** Begins again. */
  clear(): void {
    this.bytes = Buffer.alloc(0);
    this.isCut = this.isBroken = false;
  }
}

/** The most characters of the words. */
const LONGEST = 300;
/** A line that follows the message of an error: frames of a stack, and what an interpreter says when it ends. */
const EPILOGUE =
  /^(?:\s|#\d|Stack trace:|Node\.js v|goroutine \d|created by |\[signal |exit status \d|note: run with |(?=.*\)$)[\w./*()[\]{}:-]+?\()/;

/**
 * The line of a process's standard error that says why it ended: the last one that is not part of a stack. Interpreters and
 * compilers write the stack before that line (Python) or after it (Node, Ruby, Go, Java). "" if there is none.
 */
export function lastWords(log: string): string {
  const lines = log.split("\n").filter((line) => line.trim() !== "");
  const line = lines.findLast((each) => !EPILOGUE.test(each)) ?? lines.at(-1) ?? "";
  return cut(line.trim(), LONGEST);
}
