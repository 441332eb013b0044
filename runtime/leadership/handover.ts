import { randomUUID } from "node:crypto";
import type { JsonPatchOperation } from "../kubernetes/client";
import { annotationPath, type Finishing, FREE, finishingAnnotation, finishingIn, haveRoom } from "./lease";
import type { OurLease } from "./ourLease";
import type { Term } from "./term";

/**
 * The end of one term. It frees the lease and leaves an annotation in it that names the runs that have not ended. It renews that
 * annotation until they have ended. The rules for the annotation are those for the lease: each renewal tests the text from before.
 * A leader that has seen it unchanged for a lease's time removes exactly the text that it saw, and only then takes the keys.
 */
export class Handover {
  private readonly name = finishingAnnotation(randomUUID());
  /** The text of the annotation in the Lease. Undefined while none is known to exist. */
  private text: string | undefined;
  private renewals = 0;

  /** @param us who we are, and after which time without a renewal others take us for dead */
  constructor(
    private readonly lease: OurLease,
    private readonly term: Term,
    private readonly us: Pick<Finishing, "identity" | "leaseSeconds">,
  ) {}

  /** Whether the Lease has room for these keys. */
  hasRoomFor(keys: readonly string[]): boolean {
    const { annotations } = this.lease;
    return haveRoom({ ...annotations, [this.name]: this.textOf(keys) });
  }

  /** Frees the lease, or renews the annotation. @param keys of the runs that have not ended */
  async renew(keys: readonly string[]): Promise<void> {
    const { term } = this;
    // Before the request is sent: as soon as the API server has it, another process may write all other objects.
    term.narrow(keys);
    try {
      await this.write(keys);
    } catch {
      await this.find();
      if (!term.hasEnded) await this.write(keys);
    }
  }

  /** All runs have ended: removes the annotation, so that no process waits until it is stale. */
  async remove(): Promise<void> {
    if (this.text === undefined) return;
    await this.lease.patch([...this.isThere(this.text), { op: "remove", path: annotationPath(this.name) }]);
  }

  private async write(keys: readonly string[]): Promise<void> {
    const { lease, term, name, text: before } = this;
    const until = lease.trustedUntil();
    const text = this.textOf(keys);
    if (before === undefined)
      await lease.write({ ...lease.spec, ...FREE }, { ...lease.annotations, [name]: text }, term.remainingMs);
    else {
      const replace: JsonPatchOperation = { op: "replace", path: annotationPath(name), value: text };
      await lease.patch([...this.isThere(before), replace], term.remainingMs);
    }
    this.text = text;
    term.extend(until);
  }

  /** Looks at the Lease after a failure. Others may have written it, or our write was done and only its answer was lost. */
  private async find(): Promise<void> {
    const { lease, term } = this;
    // If etcd was restored, the Lease may be ours again. The process that has led since still trusts its own.
    if (await lease.readLease(term.remainingMs)) return term.end();
    // The Lease was deleted. The leader creates it again, with what it knew of us.
    if (!lease.exists) return;
    this.text = finishingIn(lease.annotations).get(this.name);
    if (this.text === undefined && !lease.isOurs) term.end();
  }

  private isThere(text: string): JsonPatchOperation[] {
    return [{ op: "test", path: annotationPath(this.name), value: text }];
  }

  private textOf(keys: readonly string[]): string {
    const finishing: Finishing = { ...this.us, keys, renewal: this.renewals++ };
    return JSON.stringify(finishing);
  }
}
