import type { KubernetesClient } from "../kubernetes/client";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import { KeyedMutex } from "../limits/keyedMutex";
import type { StatusChange } from "./composeStatus";
import type { StatusWriter } from "./statusWriter";

/** What {@link Statuses} work with. */
export interface StatusesOptions {
  readonly writer: Pick<StatusWriter, "wouldChange" | "write">;
  /** Reads an object as it is now. */
  readonly read: (name: ObjectName) => Promise<KubernetesObject | undefined>;
  /** Takes in the API server's answer to a write. */
  readonly learn: (object: KubernetesObject) => void;
  /** An object is gone that no watch has shown to be gone. */
  readonly invalidate: (name: ObjectName) => void;
}

/**
 * The statuses of an operator's custom resources. Reconciles write fields and memory, and verdicts are written beside them.
 *
 * Guarantee (tests/unit/statuses.test.ts): the writes to one object follow one another, each onto the result of the one before.
 * So a verdict never brings back a field that a reconcile has just changed.
 */
export class Statuses {
  private readonly mutex = new KeyedMutex();

  constructor(private readonly options: StatusesOptions) {}

  /**
   * Writes a change into the status of an object, if that changes anything.
   * @param object by its name and uid. If it is gone, nothing is written
   * @param along a further change that is written only together with the first. It is worth no request of its own
   * @returns the object as it is then. Undefined if it is gone
   * @throws ReconcileFailure, ApiError, ApiUnreachableError: see `StatusWriter.write`
   */
  write(
    client: KubernetesClient,
    object: ObjectName & { readonly uid: string },
    change: StatusChange,
    along: StatusChange = {},
  ): Promise<KubernetesObject | undefined> {
    const { name, namespace, uid } = object;
    return this.mutex.run(uid, async () => {
      const { read, learn, invalidate, writer } = this.options;
      const newest = await read({ name, namespace });
      if (newest?.metadata.uid !== uid) return undefined;
      if (!writer.wouldChange(newest, change)) return newest;
      const written = await writer.write(client, newest, { ...along, ...change });
      if (written) learn(written);
      else invalidate({ name, namespace });
      return written;
    });
  }
}
