import { UnknownKindError } from "../kubernetes/discovery";
import { ApiUnreachableError } from "../kubernetes/errors";
import { kindKey, type Resource } from "../kubernetes/resource";
import type { NotSynced } from "./scopes";
import { LISTING_PATIENCE_MS } from "./watchFailures";

/** A kind as a definition declares it. */
type DeclaredKind = Pick<Resource, "apiVersion" | "kind"> & { readonly retired?: boolean | undefined };

interface Sought {
  readonly kind: DeclaredKind;
  readonly since: number;
  reason: Error | undefined;
}

/** The kinds that are looked for in the cluster and are not found yet. Nothing is known about their objects. */
export class SoughtKinds {
  private readonly sought = new Map<string, Sought>();

  /** @param now a monotonic clock, in milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The kind is looked for from now on. */
  seek(kind: DeclaredKind): void {
    this.sought.set(kindKey(kind), { kind, since: this.now(), reason: undefined });
  }

  /** The kind was not found, for this reason. It is looked for again. */
  failed(kind: DeclaredKind, reason: Error): void {
    const sought = this.sought.get(kindKey(kind));
    if (sought) sought.reason = reason;
  }

  /** The kind is found, or nobody looks for it any more. */
  ended(kind: DeclaredKind): void {
    this.sought.delete(kindKey(kind));
  }

  /** The kinds of which there may be objects. */
  notFound(): NotSynced[] {
    return [...this.sought.values()]
      .filter(({ kind, reason }) => !(kind.retired && reason instanceof UnknownKindError))
      .map((sought) => ({ resource: sought.kind, namespace: undefined, problem: this.problemOf(sought) }));
  }

  /** The answer of an API server that was away, or busy, says nothing about the kind. */
  private problemOf({ reason, since }: Sought): Error | undefined {
    if (reason instanceof UnknownKindError) return reason;
    const isNew = this.now() - since < LISTING_PATIENCE_MS;
    return isNew || reason instanceof ApiUnreachableError ? undefined : reason;
  }
}
