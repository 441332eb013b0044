import type { WarningReason } from "../failure";
import { fingerprint } from "../json/fingerprint";
import type { KubernetesClient } from "../kubernetes/client";
import { isApiError } from "../kubernetes/errors";
import { EVENTS, eventAbout, LONGEST_NOTE } from "../kubernetes/events";
import type { KubernetesObject } from "../kubernetes/objects";
import { KeyedRateLimiter } from "../limits/rateLimiter";
import { clean } from "../text/clean";
import { cutBytes } from "../text/cut";
import { CRDS } from "./crdOfEvent";

/** At most 200 Warnings at once, and then one a second. A flood must not fill etcd, which keeps each for an hour. */
const RATE_LIMIT = { burst: 200, refillMs: 1_000 };

/** Who warns. */
export interface EventWarningsOptions {
  readonly client: Pick<KubernetesClient, "create">;
  /** "argosy/shop.intake". */
  readonly controller: string;
  /** The pod's name. */
  readonly instance: string;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
}

/** There were too many Warnings. The sensor sends the event again, and the Warning is written then. */
export class TooManyWarningsError extends Error {}

/**
 * Writes Warnings about CRDs, as Kubernetes Events. The same Warning is one Event, no matter who writes it and how often, because
 * the Event's name follows from its content.
 */
export class EventWarnings {
  private readonly limiter: KeyedRateLimiter;

  constructor(private readonly options: EventWarningsOptions) {
    const { now = () => performance.now() } = options;
    this.limiter = new KeyedRateLimiter(RATE_LIMIT, now);
  }

  /**
   * Resolves when the Warning exists.
   * @throws ApiError, ApiUnreachableError; TooManyWarningsError
   */
  async warn(crd: KubernetesObject, reason: WarningReason, note: string): Promise<void> {
    const { name, uid } = crd.metadata;
    if (this.limiter.tryAccept("") > 0) throw new TooManyWarningsError("too many Warnings at once");
    const { client, controller, instance } = this.options;
    const hash = Buffer.from(fingerprint([uid, reason, note]))
      .toString("hex")
      .slice(0, 40);
    try {
      const { apiVersion, kind } = CRDS;
      const warning = eventAbout(
        { apiVersion, kind, metadata: { name, uid } },
        {
          name: `${name.slice(0, 200)}.${hash}`,
          type: "Warning",
          reason,
          note: cutBytes(clean(note), LONGEST_NOTE),
          action: "Intake",
          controller,
          instance,
        },
      );
      await client.create(EVENTS, warning);
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
    }
  }
}
