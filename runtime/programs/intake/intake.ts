import { Counter, Registry } from "prom-client";
import { monotonicNow } from "../../base/clock";
import type { WarningReason } from "../../base/failure";
import { fingerprintForName } from "../../base/json";
import { KeyedRateLimiter, Recent } from "../../base/limits";
import { MANAGER_PREFIX } from "../../base/names";
import { ONCE_A_MINUTE_MS } from "../../base/notices";
import { type KubernetesObject, kindAndName, type Manifest, type ObjectName } from "../../base/objects";
import { clean, cut, cutBytes } from "../../base/text";
import type { KubernetesClient } from "../../kubernetes/client";
import { ApiError, denialIn, ifRefused, isApiError, isUndecided } from "../../kubernetes/errors";
import { lookAtNamespace } from "../../kubernetes/namespaces";
import { SENTENCES } from "../../kubernetes/sentences";
import { eventMarks, intakeManagerOf, isMadeOf } from "../../operator/eventMarks";
import { type EventMapper, type EventObject, eventMapper, type Refusal } from "../../operator/mapEvent";
import { EVENTS, eventAbout, LONGEST_NOTE } from "../../report/eventWriter";
import { RUNNER_PORTS } from "../layout";
import { tellRunner, WAKE_PATH } from "../wakeRequest";
import { CRDS, isAhead, knownField } from "./crdOfEvent";
import {
  type CreatingEvent,
  type IntakeEvent,
  type IntakeFile,
  IS_POSTPONED,
  type WakingEvent,
} from "./intakeFile";

/** The result of an event. */
const INTAKE_RESULTS = [
  /** An object was created from the event. */
  "created",
  /** The event's object existed already. */
  "known",
  /** The event does not meet `when`. */
  "skipped",
  /** The event woke an object, which is going to be reconciled. */
  "woken",
  /** There is no object of the name that the event gives. The log says so. */
  "absent",
  /** No object is created from the event, and a Warning says why; or none is woken, and the log says why. */
  "refused",
  /** An object with the event's id has other content, and stays as it is. A Warning says so. */
  "contradicted",
  /** The event cannot be handled now. The sensor sends it again. */
  "postponed",
] as const;
export type IntakeResult = (typeof INTAKE_RESULTS)[number];

/** How notices are remembered: the sensor sends each event that waits again once a second. */
const NOTICES = { keptMs: ONCE_A_MINUTE_MS, most: 1_000 };
/** At most 200 Warnings at once, and then one a second. A flood must not fill etcd, which keeps each for an hour. */
const RATE_LIMIT = { burst: 200, refillMs: 1_000 };
/** For how long a namespace must be gone or being deleted, in milliseconds. A user may be about to create it again. */
const GONE_MS = 10 * 60_000;
/** How long a runner may take to answer, in milliseconds: longer than a standby waits for the leader, and less than the sensor waits. */
const RUNNER_TIMEOUT_MS = 5_000;
/** The most characters of an event's name that a notice has. Names that manifests give are shorter, but a header has any text. */
const LONGEST_SUBJECT = 100;

interface Known {
  readonly event: IntakeEvent;
  readonly map: EventMapper;
}

/**
 * Makes a custom resource of each event from outside, or has the operator's runner look at the object that the event names. It
 * remembers nothing: if it ends at any moment, the sensor sends the event again, and the object's name says whether the object
 * existed before. Waking an object twice changes nothing, so that needs no memory.
 *
 * Guarantee (tests/integration/intake.test.ts, tests/unit/intake.test.ts): an event that is not "postponed" has its object, does
 * not meet `when`, or has its Warning. Both exist before the answer is given.
 *
 * Caveat: an event that wakes is a hint. A runner that ends after it has taken one has forgotten it, and then the object waits for
 * its turn in the resync. So only the log reports an object that does not exist: whatever the event was about, an object that
 * comes later is reconciled after it.
 */
export class Intake {
  readonly registry = new Registry();
  private readonly known: ReadonlyMap<string, Known>;
  private readonly events: Counter<"event" | "result">;
  private readonly noticed: Recent<true>;
  private readonly limiter: KeyedRateLimiter;
  /** Since when each namespace has been seen to be gone. If no event names it for long, it may have existed in between. */
  private readonly gone: Recent<number>;
  private readonly now: () => number;

  constructor(
    private readonly options: {
      readonly file: IntakeFile;
      readonly client: Pick<KubernetesClient, "create" | "get" | "now">;
      /** Has an operator reconcile an object. @default asks its runner, by `tellRunner` */
      readonly wake?: (event: WakingEvent, name: ObjectName) => ReturnType<typeof tellRunner>;
      /** The pod's name, for the Warnings. */
      readonly instance: string;
      /**
       * Called for each error, and for each event that is refused, but with the same notice at most once a minute. The notice contains
       * nothing of an event's content.
       */
      readonly onNotice: (notice: string) => void;
      /** A monotonic clock, in milliseconds. @default performance.now */
      readonly now?: () => number;
    },
  ) {
    const { installation, events } = options.file;
    const { now = monotonicNow } = options;
    this.now = now;
    this.noticed = new Recent({ ...NOTICES, now });
    this.limiter = new KeyedRateLimiter(RATE_LIMIT, now);
    this.gone = new Recent({ keptMs: GONE_MS, now });
    this.registry.setDefaultLabels({ installation });
    this.known = new Map(
      events.map((event) => [
        event.subject,
        { event, map: eventMapper(event, "wake" in event ? undefined : event.schema) },
      ]),
    );
    this.events = new Counter({
      name: "argosy_intake_events_total",
      help:
        "Events from outside, by event and result: created (it became an object), known (its object existed already), woken (its " +
        "object is reconciled), absent (there is no such object to wake), skipped (it does not meet `when`), refused (it cannot " +
        "become an object, and a Warning says so; or it names none to wake), contradicted (its object exists with other content, " +
        "and a Warning says so), postponed (the sensor sends it again)",
      labelNames: ["event", "result"],
      registers: [this.registry],
    });
    for (const { subject } of events)
      for (const result of INTAKE_RESULTS) this.events.inc({ event: subject, result }, 0);
  }

  /**
   * Takes an event. Never throws: an event that fails is postponed.
   * @param subject the event's name in the event source
   */
  take(subject: string, data: unknown): Promise<IntakeResult> {
    return this.attempt(subject, (known) => this.handle(known, data));
  }

  /** Handles an event that is too large to be read, or is not JSON: no object can be created from it, and none is named. */
  refuse(subject: string, refusal: Refusal): Promise<IntakeResult> {
    return this.attempt(subject, ({ event }) => this.refused(event, refusal));
  }

  /** Counts and reports an event that cannot be read now. @param why completes "event x is postponed: " */
  postpone(subject: string, why: string): Promise<IntakeResult> {
    return this.attempt(subject, () => Promise.reject(new Error(why)));
  }

  private async attempt(
    subject: string,
    work: (known: Known) => Promise<IntakeResult>,
  ): Promise<IntakeResult> {
    const known = this.known.get(subject);
    try {
      // This intake may be older than the sensor. An intake that knows the event is about to begin.
      if (!known) throw new Error("this intake does not know the event");
      const result = await work(known);
      this.events.inc({ event: subject, result });
      return result;
    } catch (error) {
      this.notice(`event ${cut(subject, LONGEST_SUBJECT)} ${IS_POSTPONED}: ${reasonOf(error as Error)}`);
      // A label with any text that a client sends would make metrics without end.
      if (known) this.events.inc({ event: subject, result: "postponed" });
      return "postponed";
    }
  }

  private async handle({ event, map }: Known, data: unknown): Promise<IntakeResult> {
    const mapped = map(data);
    if (mapped.kind === "skipped") return "skipped";
    if (mapped.kind === "refused") return this.refused(event, mapped.refusal);
    if (mapped.kind === "wake") return this.wake(event as WakingEvent, mapped.name);
    return this.create(event as CreatingEvent, mapped.object);
  }

  private async wake(event: WakingEvent, name: ObjectName): Promise<IntakeResult> {
    const { wake = wakeByRunner } = this.options;
    const result = await wake(event, name);
    if (result === "forwarded") return "woken";
    if (result === "absent") {
      this.noticeSometimes(
        `an event of ${event.name} woke nothing: there is no ${kindAndName(event.kind, name)}`,
      );
      return "absent";
    }
    if (result === "leaderless") throw new Error(`no runner of the operator takes it at ${event.runner}`);
    return this.refused(event, { field: "the object", complaint: "is in no namespace of the operator" });
  }

  private async create(event: CreatingEvent, object: EventObject): Promise<IntakeResult> {
    const manifest = manifestOf(event, object);
    try {
      await this.options.client.create(event, manifest, { fieldManager: intakeManagerOf(event.operator) });
      if (object.namespace !== undefined) this.gone.delete(object.namespace);
      return "created";
    } catch (error) {
      const refusal = isFinal(error) ? refusalOf(error) : await this.whyNowhere(event, object, error);
      if (refusal) return this.refused(event, { ...refusal, id: object.id });
      // A webhook may give its denial the same code and reason, but a denial is final.
      if (isApiError(error, 409) && error.reason === "AlreadyExists")
        return this.compare(event, object, manifest);
      throw error;
    }
  }

  /**
   * Why no object can be created in a namespace that the event has chosen and that is gone or is being deleted. The events for other
   * namespaces would wait for ever. Undefined if the object may be created later.
   */
  private async whyNowhere(
    { namespace: chosen }: CreatingEvent,
    { namespace }: EventObject,
    error: unknown,
  ): Promise<Refusal | undefined> {
    if (typeof chosen !== "object" || namespace === undefined) return undefined;
    // The right to create the object went with the namespace.
    if (!isApiError(error, 403) && !isApiError(error, 404)) return undefined;
    if (!(await this.isGone(namespace))) return undefined;
    return {
      field: chosen.from,
      complaint: `is the namespace ${namespace}, which is gone or is being deleted`,
    };
  }

  /**
   * Whether a namespace has been gone for ten minutes, as far as this process knows. One that is being deleted counts as gone: it never
   * takes an object again, and a finalizer may keep it for days.
   */
  private async isGone(namespace: string): Promise<boolean> {
    const state = await lookAtNamespace(this.options.client, namespace);
    const now = this.now();
    const since = state === "gone" || state === "going" ? (this.gone.get(namespace) ?? now) : undefined;
    if (since === undefined) this.gone.delete(namespace);
    else this.gone.set(namespace, since);
    return since !== undefined && now - since >= GONE_MS;
  }

  private async compare(
    event: CreatingEvent,
    object: EventObject,
    manifest: Manifest,
  ): Promise<IntakeResult> {
    const there = await this.options.client.get(event, manifest.metadata);
    if (!there) throw new Error(`${object.name} has just been deleted`);
    const again = `an event of ${event.name} with the id ${idIn(object.id)} came again`;
    const which = kindAndName(event.kind, object);
    if (there.metadata.deletionTimestamp !== undefined) {
      const note = `${again} while ${which} is being deleted, and no other object is created`;
      await this.tell(await this.crdOf(event), "EventRefused", note);
      return "refused";
    }
    if (isMadeOf(manifest.metadata, there, event.operator)) return "known";
    const note = `${again} with other content, or its mapping has changed since. ${which} stays as it is`;
    await this.tell(await this.crdOf(event), "EventContradicts", note);
    return "contradicted";
  }

  private async refused(event: IntakeEvent, { field, complaint, id }: Refusal): Promise<IntakeResult> {
    if ("wake" in event) {
      this.noticeSometimes(`an event of ${event.name} woke no object: ${field} ${complaint}`);
      return "refused";
    }
    const crd = await this.crdOf(event);
    // The event may fit the new definition.
    if (isAhead(crd, event, this.options.client.now()))
      throw new Error(
        `${event.crd} has another schema than this intake knows. The next intake of the program knows it`,
      );
    const which = id === undefined ? "without a known id" : `with the id ${idIn(id)}`;
    const where = knownField(field, event);
    const note = `an event of ${event.name} ${which} became no object: ${where} ${complaint}`;
    await this.tell(crd, "EventRefused", note);
    return "refused";
  }

  private async crdOf({ crd: name }: CreatingEvent): Promise<KubernetesObject> {
    const crd = await this.options.client.get(CRDS, { name });
    if (!crd) throw new Error(`there is no CRD ${name}`);
    return crd;
  }

  /**
   * Resolves when a Warning about a CRD exists. The same Warning is one Event, whichever process writes it and how often, because
   * the Event's name follows from its content.
   */
  private async tell(crd: KubernetesObject, reason: WarningReason, note: string): Promise<void> {
    if (this.limiter.tryAccept("") > 0) throw new Error("too many Warnings at once");
    const { name, uid } = crd.metadata;
    const { file, client, instance } = this.options;
    const { apiVersion, kind } = CRDS;
    const warning = eventAbout(
      { apiVersion, kind, metadata: { name, uid } },
      {
        name: `${name.slice(0, 200)}.${fingerprintForName([uid, reason, note])}`,
        type: "Warning",
        reason,
        note: cutBytes(clean(note), LONGEST_NOTE),
        action: "Intake",
        controller: `${MANAGER_PREFIX}${file.installation}.intake`,
        instance,
      },
    );
    await client.create(EVENTS, warning).catch(ifRefused(409, undefined));
    this.notice(note);
  }

  /** A notice that a flood of events could make again and again with other names. */
  private noticeSometimes(text: string): void {
    if (this.limiter.tryAccept("notices") === 0) this.notice(text);
  }

  private notice(text: string): void {
    if (this.noticed.get(text)) return;
    this.noticed.set(text, true);
    this.options.onNotice(text);
  }
}

function wakeByRunner({ runner: host }: WakingEvent, name: ObjectName): ReturnType<typeof tellRunner> {
  return tellRunner(name, { host, port: RUNNER_PORTS.hints, path: WAKE_PATH, timeoutMs: RUNNER_TIMEOUT_MS });
}

function manifestOf(event: CreatingEvent, object: EventObject): Manifest {
  const { name, namespace, spec } = object;
  return {
    apiVersion: event.apiVersion,
    kind: event.kind,
    metadata: { name, ...(namespace !== undefined && { namespace }), ...eventMarks(event.name, object) },
    spec,
  };
}

function idIn(id: readonly string[]): string {
  return JSON.stringify(id.join("/"));
}

/**
 * Whether the API server, or a webhook or a policy, will refuse this object for ever. Missing rights, room, kinds and namespaces may
 * come, and a busy or unreachable API server may recover.
 */
function isFinal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || isUndecided(error)) return false;
  if (error.code === 413 || denialIn(error.message) !== undefined) return true;
  // A proxy before the API server answers with a text of its own. It knows nothing of the object but its size.
  return error.status.kind === "Status" && [400, 422].includes(error.code);
}

/** The API server's message without the values of the object. */
function refusalOf({ code, causes: [cause], message }: ApiError): Refusal {
  if (cause?.field !== undefined)
    return { field: cause.field, complaint: `is refused by the API server: ${cause.reason ?? "Invalid"}` };
  const denial = denialIn(message);
  if (denial !== undefined) return { field: "the object", complaint: `is refused: ${denial}` };
  const unknown = SENTENCES.unknownField.exec(message)?.[1];
  if (unknown !== undefined) return { field: unknown, complaint: "is not in the CRD's schema" };
  return { field: "the object", complaint: `is refused by the API server: HTTP ${code}` };
}

/** Why an event is postponed. The API server's message about an object's content must not be in the log. */
function reasonOf(error: Error): string {
  if (!(error instanceof ApiError)) return error.message;
  return `${error.request}: HTTP ${error.code} ${denialIn(error.message) ?? error.reason}`;
}
