import type { KubernetesObject } from "../../runtime/base/objects";
import type { ReflectorSink } from "../../runtime/observe/reflector";

/** Remembers when each object of a watch was first seen. */
export class Sightings implements ReflectorSink {
  private readonly seenAt = new Map<string, number>();
  private readonly waiting = new Map<
    string,
    { resolve: (time: number) => void; reject: (error: Error) => void }
  >();
  private failure: Error | undefined;

  /**
   * When the object was first seen, in `performance.now()`; waits for it.
   * @throws the error of {@link fail}, if that comes first
   */
  async of(name: string): Promise<number> {
    const seenAt = this.seenAt.get(name);
    if (seenAt !== undefined) return seenAt;
    if (this.failure) throw this.failure;
    return new Promise((resolve, reject) => this.waiting.set(name, { resolve, reject }));
  }

  /** Ends all waiting with an error. */
  fail(error: Error): void {
    this.failure ??= error;
    for (const { reject } of this.waiting.values()) reject(this.failure);
    this.waiting.clear();
  }

  set({ metadata: { name } }: KubernetesObject): void {
    if (this.seenAt.has(name)) return;
    const now = performance.now();
    this.seenAt.set(name, now);
    this.waiting.get(name)?.resolve(now);
    this.waiting.delete(name);
  }

  // A sighting stays, whatever happens to the object.
  listing(): void {}
  listed(): void {}
  remove(): void {}
}
