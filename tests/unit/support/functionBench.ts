import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { localHandler } from "../../../cli/handler/localHandler";
import type { HandlerFiles } from "../../../components/manifests/operator/handlerFiles";
import type { ReconcileFailure } from "../../../runtime/base/failure";
import type { HandlerAnswer } from "../../../runtime/handler/contract";
import { HandlerPool, type HandlerPoolOptions } from "../../../runtime/handler/handlerPool";
import type { HandlerTransport } from "../../../runtime/handler/handlerTransport";
import { askHandler } from "../../../runtime/reconcile/ask";
import { addFiles } from "../operatorFolder";
import { failureOf } from "./failures";
import { question } from "./handlers";

const TIMEOUT_MS = 20_000;

/** A function in a folder of its own, as a handler that can be asked. */
export class FunctionBench {
  readonly folder = mkdtempSync(path.join(tmpdir(), "argosy-function-"));
  /** What else is to be cleaned up, after the handler has ended. */
  cleanUp: () => Promise<void> = async () => {};
  private current: HandlerPool | undefined;

  /** The handler, once it was started. */
  get pool(): HandlerPool {
    assert.ok(this.current, "the function was not started");
    return this.current;
  }

  /** Writes the files, and starts the first of them as the handler. */
  start(
    files: Readonly<Record<string, string>>,
    options: Partial<HandlerPoolOptions> = {},
    env: Readonly<Record<string, string>> = {},
  ): void {
    addFiles(this.folder, files);
    const [file = ""] = Object.keys(files);
    this.use(localHandler({ folder: this.folder, handler: { image: "a:1", function: file } }, env), options);
  }

  /** Starts the handler on another transport. */
  use(transport: HandlerTransport, options: Partial<HandlerPoolOptions> = {}): void {
    this.current = new HandlerPool({ transport, timeoutMs: TIMEOUT_MS, ...options });
  }

  ask(word?: string, event: "reconcile" | "finalize" = "reconcile") {
    return askHandler<HandlerAnswer>(this.pool, { ...question(word), event }, () => undefined);
  }

  /** The status in the handler's answer. */
  async statusOf(word?: string) {
    const { answer } = await this.ask(word);
    return "status" in answer ? answer.status : undefined;
  }

  /** The failure of a function whose process answers nevertheless. */
  async failing(
    files: Readonly<Record<string, string>>,
    event?: "reconcile" | "finalize",
  ): Promise<ReconcileFailure> {
    this.start(files);
    const failure = await failureOf(() => this.ask("question", event));
    assert.equal(failure.reason, "HandlerError");
    return failure;
  }

  async close(): Promise<void> {
    await this.current?.close();
    await this.cleanUp();
    rmSync(this.folder, { recursive: true });
  }
}

/** The content of the files in a ConfigMap, by their paths. */
export function contentOf({ data, items }: HandlerFiles): Record<string, string> {
  return Object.fromEntries(items.map((item) => [item.path, data[item.key] ?? ""]));
}
