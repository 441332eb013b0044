import { commandOnPath } from "../../definition/commandOnPath";
import { programOf } from "../../definition/handlerProgram";
import type { Operator } from "../../runtime/cli";
import { Containers } from "../containers/containers";
import { ContainerEngineError, enginesOnPath } from "../containers/engine";

/** What {@link HandlerPlaces} works with. */
export interface HandlerPlacesOptions {
  /** Whether every handler is to run in its image. */
  readonly inImage: boolean;
  /** Called with a sentence, once for each handler that runs in its image although the user did not ask for that. */
  readonly onNotice: (notice: string) => void;
  /** Called for each long step. */
  readonly onProgress: (line: string) => void;
  /** Finds Docker or Podman. @default Containers.open */
  readonly open?: typeof Containers.open;
}

/**
 * Decides where handlers run: as processes of this machine, which start at once and can be debugged, or in their images, where
 * everything is as in a pod. Unless the user asks for images, a handler runs in its image only if it cannot run without the
 * image.
 */
export class HandlerPlaces {
  private containers: Promise<Containers> | undefined;
  private readonly said = new Set<string>();

  constructor(private readonly options: HandlerPlacesOptions) {}

  /**
   * Looks for Docker or Podman, if every handler is to run in its image. The user should not wait for a control plane before
   * learning that there is none.
   * @throws ContainerEngineError if there is none; the signal's reason
   */
  async check(signal?: AbortSignal): Promise<void> {
    if (this.options.inImage) await this.opened(signal);
  }

  /**
   * The transport that runs an operator's handler in its image, which is pulled then. Undefined: the handler runs on this
   * machine.
   * @throws ContainerEngineError if the handler is to run in its image, and cannot; the signal's reason
   */
  async containersFor(operator: Operator, signal?: AbortSignal): Promise<Containers | undefined> {
    if (this.options.inImage) return this.prepared(operator, signal);
    const missing = programInImageOnly(operator);
    if (missing === undefined) return undefined;
    try {
      const containers = await this.prepared(operator, signal);
      this.sayOnce(
        `${operator.name}: ${missing} is not on this machine. The handler runs in its image ${operator.handler.image} with ` +
          `${containers.engine.name}.`,
      );
      return containers;
    } catch (error) {
      if (!(error instanceof ContainerEngineError)) throw error;
      // The user must learn which program is missing. An error of the engine may explain why it is still missing.
      if (enginesOnPath().length > 0)
        this.sayOnce(
          `${operator.name}: ${missing} is not on this machine, and its image cannot be used. ${error.message}`,
        );
      return undefined;
    }
  }

  /** Removes all remaining containers. */
  async close(): Promise<void> {
    await (await this.containers?.catch(() => undefined))?.close();
  }

  private async prepared(operator: Operator, signal: AbortSignal | undefined): Promise<Containers> {
    const containers = await this.opened(signal);
    await containers.prepare(operator, signal);
    return containers;
  }

  private opened(signal: AbortSignal | undefined): Promise<Containers> {
    const { open = Containers.open, onProgress } = this.options;
    this.containers ??= open(onProgress, signal).catch((error: unknown) => {
      // The engine may be started later.
      this.containers = undefined;
      throw error;
    });
    return this.containers;
  }

  private sayOnce(notice: string): void {
    if (this.said.has(notice)) return;
    this.said.add(notice);
    this.options.onNotice(notice);
  }
}

/**
 * The handler's program, if it may exist only in the image. A path within its folder is a file of the author's, here and there.
 */
function programInImageOnly(operator: Operator): string | undefined {
  const [program = ""] = programOf(operator, "").command;
  const isOwn = program.includes("/") && !program.startsWith("/");
  const environment = { ...process.env, ...operator.env };
  return isOwn || commandOnPath(program, environment, operator.folder) !== undefined ? undefined : program;
}
