import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { definitionFile } from "../../definition/definitionFile";
import type { OperatorsInOrder } from "../../definition/loadOperators";
import { within } from "../../runtime/base/clock";
import { ApiError, ApiUnreachableError, type Engine, type Operator } from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import { InterruptedError } from "../common/interruption";
import { ClusterNotReadyError } from "../local/awaitedKind";
import { areOfHandler } from "./handlerEdits";

/** The options of a {@link Workshop}. */
export interface WorkshopOptions {
  /**
   * Loads the operators as their files are now. Their folders have no symbolic links.
   * @throws OperatorError
   */
  readonly load: () => OperatorsInOrder;
  /** Starts an operator. */
  readonly run: (operator: Operator) => Promise<Engine>;
  /** Called with an operator whose handler is about to be renewed, since a file of it was edited. */
  readonly onRenew?: (operator: Operator) => void;
  /** Called with each step of the workshop: "memcached started". */
  readonly onNotice: (notice: string) => void;
  /** Called for an edit that cannot be used. The earlier version goes on running. */
  readonly onError: (error: Error) => void;
  /** How long until an operator that could not be started is tried again, in milliseconds. @default 3000 */
  readonly againMs?: number;
}

const AGAIN_MS = 3_000;
/**
 * How long runs in progress may take when their operator is replaced, in milliseconds. A handler that is stuck must not hold up
 * its own correction.
 */
const GRACE_MS = 2_000;

/** An operator that runs, and its engine. */
export interface Running {
  readonly operator: Operator;
  readonly controller: Engine;
}

/** Runs operators and keeps them in step with their files. */
export class Workshop {
  private readonly engines = new Map<string, Running>();
  /** The start, the edits and the further attempts come one after another, because each begins and stops engines. */
  private tail: Promise<void> = Promise.resolve();
  private closed = false;
  /** Valid operators that could not be started, by their folders, with the reason. */
  private readonly failed = new Map<string, string>();
  private again: NodeJS.Timeout | undefined;
  /** Whether a definition had a mistake when the operators were loaded last. */
  private hadMistake = false;

  constructor(private readonly options: WorkshopOptions) {}

  /** What runs now. */
  get running(): Running[] {
    return [...this.engines.values()];
  }

  /**
   * Starts every operator that is in order, and reports what keeps the others from starting. These are started once an edit has
   * mended them, or once what was in their way has gone.
   * Edits that come before it ends are applied afterwards.
   * @throws whatever keeps them from starting, if none could be started and none waits for the cluster; InterruptedError
   */
  open(): Promise<void> {
    const opened = this.tail.then(() => this.startAll());
    // The caller gets the error.
    this.tail = opened.catch(() => {});
    return opened;
  }

  /** Applies an edit: a handler is renewed, or an operator with a changed definition is replaced. */
  edited(files: readonly string[]): Promise<void> {
    return this.inTurn(() => this.takeIn(files));
  }

  /**
   * Stops every operator, once the edit that is being applied has been.
   * @param graceMs how long runs in progress may take, and the edit.
   * @default for ever
   */
  async close(graceMs?: number): Promise<void> {
    this.closed = true;
    clearTimeout(this.again);
    await within(graceMs, this.tail);
    await Promise.all(this.running.map(({ controller }) => controller.stop(graceMs)));
    this.engines.clear();
  }

  private async startAll(): Promise<void> {
    const { operators, error } = this.options.load();
    this.hadMistake = error !== undefined;
    const errors: unknown[] = error ? [error] : [];
    const start = (operator: Operator) =>
      this.start(operator).catch((reason: unknown) => {
        errors.push(reason);
        this.failed.set(operator.folder, (reason as Error).message);
      });
    await Promise.all(operators.map(start));
    const interruption = errors.find((each) => each instanceof InterruptedError);
    if (interruption) throw interruption;
    const waits = errors.some((each) => each instanceof ClusterNotReadyError);
    const last = this.engines.size === 0 && !waits ? errors.pop() : undefined;
    for (const each of errors) this.options.onError(each as Error);
    if (last) throw last;
    const others = this.engines.size === 0 ? "No operator is running yet." : "The others are running.";
    if (errors.length > 0)
      this.options.onNotice(`${others} The rest is started as soon as nothing keeps it from starting.`);
    this.tryAgain();
  }

  /** Does this after everything before, unless the workshop is closed by then. */
  private inTurn(action: () => Promise<void>): Promise<void> {
    this.tail = this.tail
      .then(() => (this.closed ? undefined : action()))
      .catch((error: Error) => this.options.onError(error));
    return this.tail;
  }

  private async takeIn(files: readonly string[]): Promise<void> {
    for (const { operator } of this.running) {
      if (!existsSync(definitionFile(operator.folder))) await this.stop(operator, "removed");
    }
    const renewed = new Set<string>();
    const { operators, error } = this.options.load();
    if (error) this.options.onError(error);
    // Otherwise the error would be the last word if the definition is again what it was.
    else if (this.hadMistake) this.options.onNotice("All definitions are in order again.");
    this.hadMistake = error !== undefined;
    this.failed.clear();
    for (const operator of operators) {
      try {
        if (await this.replace(operator)) renewed.add(operator.folder);
      } catch (reason) {
        this.failed.set(operator.folder, (reason as Error).message);
        this.options.onError(reason as Error);
      }
    }
    this.tryAgain();
    // Also if a definition is broken: the last good definition goes on with the current handler.
    for (const { operator, controller } of this.running) {
      if (renewed.has(operator.folder) || !areOfHandler(files, operator)) continue;
      this.options.onRenew?.(operator);
      controller.renewHandler();
      this.options.onNotice(`${operator.name}: handler reloaded`);
    }
  }

  /** The user may install an interpreter or repair the cluster without an edit, so operators that failed are tried again. */
  private tryAgain(): void {
    clearTimeout(this.again);
    if (this.failed.size === 0 || this.closed) return;
    this.again = setTimeout(
      () => void this.inTurn(() => this.startFailed()),
      this.options.againMs ?? AGAIN_MS,
    );
  }

  /** Reports only new problems. */
  private async startFailed(): Promise<void> {
    const { operators } = this.options.load();
    for (const operator of operators.filter(({ folder }) => this.failed.has(folder))) {
      try {
        await this.start(operator);
        this.failed.delete(operator.folder);
      } catch (reason) {
        const { message } = reason as Error;
        if (this.failed.get(operator.folder) !== message) this.options.onError(reason as Error);
        this.failed.set(operator.folder, message);
      }
    }
    this.tryAgain();
  }

  /** @returns whether the operator is new or another one now */
  private async replace(operator: Operator): Promise<boolean> {
    const before = this.engines.get(operator.folder);
    if (before && isDeepStrictEqual(before.operator, operator)) return false;
    if (before) await this.stop(before.operator, "stopped: its definition has changed");
    try {
      await this.start(operator);
    } catch (error) {
      // An author who edits the watched kind does not want the previous kind. The previous definition would be blocked too.
      if (!before || error instanceof ClusterNotReadyError) throw error;
      this.options.onError(error as Error);
      this.options.onNotice(
        `${operator.name}: its previous definition goes on until the new one is corrected`,
      );
      await this.start(before.operator);
    }
    return true;
  }

  private async start(operator: Operator): Promise<void> {
    const controller = await this.options.run(operator).catch((error: unknown) => {
      throw naming(operator, error);
    });
    this.engines.set(operator.folder, { operator, controller });
    const { kind, group } = operator.customResource;
    this.options.onNotice(`${operator.name}: running, for ${kind} of ${group || "the core group"}`);
  }

  private async stop(operator: Operator, why: string): Promise<void> {
    const running = this.engines.get(operator.folder);
    this.engines.delete(operator.folder);
    await running?.controller.stop(GRACE_MS);
    this.options.onNotice(`${operator.name}: ${why}`);
  }
}

/** The error with the operator's name if it is the API server's, which names none. */
function naming({ name }: Operator, error: unknown): unknown {
  if (!(error instanceof ApiError || error instanceof ApiUnreachableError)) return error;
  return new CommandError(`${name} cannot be started: ${error.message}`, { cause: error });
}
