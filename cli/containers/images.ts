import { type ContainerEngine, ContainerEngineError, lastSentence, WITHOUT } from "./engine";

/**
 * How long the registry is not asked again after a failure, in milliseconds. `argosy dev` tries every few seconds to start an
 * operator that could not be started.
 */
const AGAIN_MS = 60_000;

/** The engines' message about a registry that cannot be reached. */
const AWAY =
  /no such host|dial tcp|i\/o timeout|timed? ?out|connection (refused|reset)|network is unreachable|temporary failure|deadline exceeded|TLS handshake/i;
/**
 * The engines' message about an image that does not exist, or that not everyone may pull. Registries do not distinguish the two.
 */
const MISSING = /manifest unknown|not found|denied|unauthorized|does not exist|name unknown/i;

/** The images of an engine. Each is pulled once, if it is missing. */
export class Images {
  private readonly failures = new Map<string, { readonly error: Error; readonly at: number }>();

  constructor(
    private readonly engine: ContainerEngine,
    /** Called for each image that is pulled, because that takes a while. */
    private readonly onPull: (image: string) => void,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Pulls an image if it is missing. An existing image is not looked up in the registry, so that no network is needed.
   * @throws ContainerEngineError if it cannot be pulled; the signal's reason
   */
  async ensure(image: string, signal?: AbortSignal): Promise<void> {
    const { run } = this.engine;
    if ((await run(["image", "inspect", image], signal)).code === 0) return;
    const failure = this.failures.get(image);
    if (failure && this.now() - failure.at < AGAIN_MS) throw failure.error;
    this.onPull(image);
    const { code, complaint } = await run(["pull", "--quiet", image], signal);
    if (code === 0) return;
    const error = new ContainerEngineError(pullComplaint(this.engine.name, image, complaint));
    this.failures.set(image, { error, at: this.now() });
    throw error;
  }
}

/** Why an image could not be pulled, by the engine's message, and what to do. */
export function pullComplaint(engine: string, image: string, complaint: string): string {
  const said = lastSentence(complaint);
  const begin = `Image ${image} is not here, and`;
  if (AWAY.test(complaint))
    return `${begin} its registry cannot be reached: ${said} Connect this machine, or load the image (${engine} load --input FILE). ${WITHOUT}`;
  if (MISSING.test(complaint))
    return `${begin} its registry does not deliver it: ${said} Correct the image in operator.yaml, build it here, or log in (${engine} login). ${WITHOUT}`;
  return `${begin} ${engine} cannot pull it: ${said} ${WITHOUT}`;
}
