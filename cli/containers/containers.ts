import type { HandlerTransport, Operator } from "../../runtime/cli";
import { scratchFolder } from "../common/scratchFolder";
import { numbered } from "../common/terminal";
import { endedAtExit } from "../handler/endedAtExit";
import type { HandlerAccount } from "../handler/handlerAccount";
import { type ContainerEngine, findEngine } from "./engine";
import { Images } from "./images";
import { ImageTransport } from "./imageTransport";
import { ContainerSession, removeLeftOvers } from "./session";

/** The options of a handler in a container. */
export interface InImage {
  readonly operator: Operator;
  /** The author's variables. */
  readonly env: Readonly<Record<string, string>>;
  /** The account of a handler with `rules`. */
  readonly account: HandlerAccount | undefined;
  /** The address of the API server for this machine. */
  readonly server: string;
}

/** Runs handlers in their images, by Docker or Podman. */
export class Containers {
  private readonly images: Images;
  private readonly session: ContainerSession;
  /** The containers may read the files in it. */
  private readonly scratch = scratchFolder("argosy-containers");

  private constructor(
    readonly engine: ContainerEngine,
    onProgress: (line: string) => void,
  ) {
    this.images = new Images(engine, (image) => onProgress(`${engine.name} pulls ${image}`));
    this.session = new ContainerSession(engine, this.scratch.path);
  }

  /**
   * Finds the engine, and removes containers that a killed process left.
   * @param onProgress called with a line for each long step
   * @throws ContainerEngineError; the signal's reason
   */
  static async open(onProgress: (line: string) => void, signal?: AbortSignal): Promise<Containers> {
    const engine = await findEngine(signal);
    const count = await removeLeftOvers(engine);
    if (count > 0)
      onProgress(`removed ${numbered(count, "container", "containers")} of an earlier argosy dev`);
    return new Containers(engine, onProgress);
  }

  /**
   * Pulls an operator's image if it is missing.
   * @throws ContainerEngineError if it cannot be pulled; the signal's reason
   */
  async prepare({ handler }: Pick<Operator, "handler">, signal?: AbortSignal): Promise<void> {
    await this.images.ensure(handler.image, signal);
  }

  /** The processes of a handler, each in a container. Its image must exist. */
  transport({ operator, env, account, server }: InImage): HandlerTransport {
    const { engine, session, scratch } = this;
    const transport = new ImageTransport({
      operator,
      engine,
      session,
      scratch: scratch.path,
      env: { ...account?.envInPod, ...env },
      account: account?.folder,
      onHostNetwork: account !== undefined && isLoopback(server),
    });
    return endedAtExit(transport);
  }

  /** Removes all remaining containers. */
  async close(): Promise<void> {
    await this.session.close();
    this.scratch.remove();
  }
}

/** Whether an address leads to this machine only from this machine. A container has its own loopback. */
export function isLoopback(server: string): boolean {
  const { hostname } = new URL(server);
  return hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
}
