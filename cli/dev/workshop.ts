import { existsSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { definitionFile } from "../../definition/definitionFile";
import { loadOperators } from "../../definition/loadOperators";
import type { Operator } from "../../runtime/definition/definition";
import type { Engine } from "../../runtime/engine";

/** What a {@link Workshop} works with. */
export interface WorkshopOptions {
  /** The folder of all operators, without symbolic links. */
  readonly folder: string;
  /** Starts an operator. */
  readonly run: (operator: Operator) => Promise<Engine>;
  /** Told what the workshop does: "memcached started". */
  readonly onNotice: (notice: string) => void;
  /** Told of an edit that cannot be used; what ran before runs on. */
  readonly onError: (error: Error) => void;
}

interface Running {
  readonly operator: Operator;
  readonly controller: Engine;
}

/** Runs the operators of a folder and keeps them in step with their files. */
export class Workshop {
  private readonly running = new Map<string, Running>();
  /** Edits are taken in one after another. */
  private tail: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(private readonly options: WorkshopOptions) {}

  /** The engines that run now. */
  get controllers(): Engine[] {
    return [...this.running.values()].map(({ controller }) => controller);
  }

  /** The operators that run now. */
  get operators(): Operator[] {
    return [...this.running.values()].map(({ operator }) => operator);
  }

  /**
   * Starts every operator.
   * @throws OperatorError where one is not in order, and whatever keeps one from starting
   */
  async open(): Promise<void> {
    for (const operator of loadOperators(this.options.folder)) await this.start(operator);
  }

  /** Takes an edit in: a handler is renewed, a definition that has become another one replaces its operator. */
  edited(files: readonly string[]): Promise<void> {
    this.tail = this.tail
      .then(() => (this.closed ? undefined : this.takeIn(files)))
      .catch((error: Error) => this.options.onError(error));
    return this.tail;
  }

  /** Stops every operator, when the edit that is being taken in has been. */
  async close(): Promise<void> {
    this.closed = true;
    await this.tail;
    await Promise.all([...this.running.values()].map(({ controller }) => controller.stop()));
    this.running.clear();
  }

  private async takeIn(files: readonly string[]): Promise<void> {
    for (const { operator } of [...this.running.values()]) {
      if (!existsSync(definitionFile(operator.folder))) await this.stop(operator, "removed");
    }
    const renewed = new Set<string>();
    try {
      for (const operator of loadOperators(this.options.folder)) {
        if (await this.replace(operator)) renewed.add(operator.folder);
      }
    } catch (error) {
      this.options.onError(error as Error);
    }
    // Also where a definition is broken: the last good one goes on with the handler as it is now.
    for (const { operator, controller } of this.running.values()) {
      const isHandlers = (file: string) =>
        file.startsWith(operator.folder + path.sep) && file !== definitionFile(operator.folder);
      if (renewed.has(operator.folder) || !files.some(isHandlers)) continue;
      controller.renewHandler();
      this.options.onNotice(`${operator.name}: handler reloaded`);
    }
  }

  /** @returns whether the operator is new or another one now */
  private async replace(operator: Operator): Promise<boolean> {
    const before = this.running.get(operator.folder);
    if (before && isDeepStrictEqual(before.operator, operator)) return false;
    if (before) await this.stop(before.operator, "stopped: its definition has changed");
    try {
      await this.start(operator);
    } catch (error) {
      if (!before) throw error;
      this.options.onError(error as Error);
      await this.start(before.operator);
    }
    return true;
  }

  private async start(operator: Operator): Promise<void> {
    const controller = await this.options.run(operator);
    this.running.set(operator.folder, { operator, controller });
    const { kind, group } = operator.customResource;
    this.options.onNotice(`${operator.name}: running, for ${kind} of ${group}`);
  }

  private async stop(operator: Operator, why: string): Promise<void> {
    const running = this.running.get(operator.folder);
    this.running.delete(operator.folder);
    await running?.controller.stop();
    this.options.onNotice(`${operator.name}: ${why}`);
  }
}
