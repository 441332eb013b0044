import { invalid, invalidStatus, ReconcileFailure, type WarningReason } from "../base/failure";
import { isRecord, jsonOf } from "../base/json";
import { isSecretKind } from "../base/kinds";
import { TRUNCATED_ANNOTATION } from "../base/names";
import { type KubernetesObject, kindAndName, type Manifest } from "../base/objects";
import { traceparentOf } from "../base/traceContext";
import {
  type HandlerAnswer,
  type HandlerEvent,
  type HandlerQuestion,
  MOST_GIVEN_BYTES,
  type QuestionParts,
  questionAbout,
  type ReconcileAnswer,
} from "../handler/contract";
import type { QuestionContent } from "../handler/digest";
import type { Asked } from "../handler/handlerPool";
import type { HandlerReply } from "../handler/handlerWorker";
import { parseAnswer, partWithoutPlace } from "../handler/parseAnswer";
import { readInParts } from "../kubernetes/list";
import type { Child, ChildStore } from "../observe/childStore";
import type { GatheredUse } from "../observe/uses/used";
import type { Scrubber } from "../secrets/scrubber";
import type { Parts, Run } from "./run";

/**
 * After an answer of at most this size, a reconcile gives up its place. The size is in characters and includes the Secrets that are
 * masked in its reports. A larger answer keeps the place until the reconcile ends, because the number of places limits that memory.
 */
export const SMALL_ANSWER = 64 * 1024;

/** A question to the handler, complete but for what differs each time. */
export interface Gathered {
  readonly content: QuestionContent;
  /** What was not given whole. */
  readonly warnings: readonly { readonly reason: WarningReason; readonly note: string }[];
  /** The Secrets among the used objects. */
  readonly secrets: GatheredUse["secrets"];
  /** Of the children's JSON. */
  readonly bytes: number;
  /** The uids of the children: see {@link GivenChildren.uids}. */
  readonly shown: ReadonlySet<string>;
}

/**
 * Gathers what a handler is asked about an object: its children and all objects that it uses.
 * @throws StillListingError, ApiError, ApiUnreachableError if an object that it is given cannot be read; ReconcileFailure if it may not
 *   be given what its object uses
 */
export async function gather(
  parts: Parts,
  { event, object, state, due = [] }: Pick<QuestionParts, "event" | "object" | "state" | "due">,
): Promise<Gathered> {
  const given = await givenChildren(parts.children, parts.isFollowed, object, event);
  const { children, warnings, bytes, uids: shown } = given;
  const { used, warnings: ofUsed, secrets } = await parts.used(object, event);
  return {
    content: { event, object, children, used, due, ...(state !== undefined && { state }) },
    warnings: [...warnings, ...ofUsed],
    secrets,
    bytes,
    shown,
  };
}

/**
 * Asks the handler. Writes nothing.
 * @throws ReconcileFailure if it fails or answers wrongly
 */
export async function ask<Answer extends HandlerAnswer>(
  parts: Parts,
  run: Run,
  gathered: Gathered,
): Promise<Exclude<Answer, { error: unknown }>> {
  const { content, warnings } = gathered;
  for (const each of warnings) run.events.push({ type: "Warning", ...each });
  run.asked = content;
  run.shown = gathered.shown;
  if (content.due.length > 0) run.note({ due: content.due.map(({ name }) => name) });
  const { trace: context } = run.context;
  const trace = context && traceparentOf(context);
  const askedAt = performance.now();
  const { answer, length, log } = await run.timeline.step("handler", () =>
    answerTo<Answer>(parts, run, gathered, { trace }),
  );
  run.note({ log, handlerMs: performance.now() - askedAt });
  if (length <= SMALL_ANSWER) run.context.onAnswer?.();
  return answer;
}

/**
 * The handler's answer to a question. Its children and its status are intended, and stay as they are. Its reports have no values of
 * Secrets.
 */
export async function answerTo<Answer extends HandlerAnswer>(
  { scrubber, pool, checkStatus, others }: Parts,
  run: Run,
  { content, secrets }: Gathered,
  more: Pick<QuestionParts, "dryRun" | "trace">,
): Promise<{
  readonly answer: Exclude<Answer, { error: unknown }>;
  /** In characters, with the Secrets that are masked in its reports. */
  readonly length: number;
  readonly log: string;
}> {
  const { id, attempt } = run.report;
  // The question may have waited for so long that the object is gone, or that another process asks its own handler by now.
  const given = [content.object, ...content.children];
  const asked = new QuestionSecrets(scrubber, pool, given, secrets, id, run.assertMayGoOn);
  const question = questionAbout({ ...content, ...more, attempt });
  const { answer, length, log } = await askHandler<Answer>(asked, question, checkStatus, !others);
  const { conditions, events } = answer as Partial<ReconcileAnswer>;
  const masked = {
    ...answer,
    ...(conditions && { conditions: conditions.map((each) => scrubber.said(each)) }),
    ...(events && { events: events.map((each) => scrubber.said(each)) }),
  };
  return { answer: masked, length: length + asked.size, log };
}

/**
 * The object's children as they are, for its handler. A request to finalize leaves out those that are no longer followed. Otherwise a
 * handler that waits for its children to go would wait for one that went with its namespace.
 */
export async function givenChildren(
  children: ChildStore,
  isFollowed: (child: Child) => boolean,
  object: KubernetesObject,
  event: HandlerEvent = "reconcile",
): Promise<GivenChildren> {
  const given = new GivenChildren();
  const isMeant = (child: Child) => event === "reconcile" || isFollowed(child);
  const meant = children.of(object.metadata.uid).filter(isMeant);
  for (const { uid } of meant) given.uids.add(uid);
  for await (const state of readInParts(meant, (each) => children.readChild(each))) given.take(state);
  return given;
}

/** A child, or the part of it that is given. */
interface Given {
  child: KubernetesObject;
  /** Of its JSON. */
  bytes: number;
  /** How many of {@link CUTS} were made. */
  cuts: number;
}

/** By this annotation a handler distinguishes a child that was cut from one that has no other fields. */
const TRUNCATED = { [TRUNCATED_ANNOTATION]: "true" };
/** What is given of a child that is too large, and then, if its metadata is too large, of its metadata. */
const CUTS: readonly ((child: KubernetesObject) => KubernetesObject)[] = [
  ({ apiVersion, kind, metadata }) => ({
    apiVersion,
    kind,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...TRUNCATED } },
  }),
  ({ apiVersion, kind, metadata }) => {
    const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
    const named = { name, ...(namespace !== undefined && { namespace }), uid, resourceVersion };
    const times = {
      ...(creationTimestamp && { creationTimestamp }),
      ...(deletionTimestamp && { deletionTimestamp }),
    };
    return { apiVersion, kind, metadata: { ...named, ...times, annotations: TRUNCATED } };
  },
];
/** How many children the warning names. */
const MOST_NAMED = 10;

/**
 * The children that a handler is given in one request. If they are too large together, the largest ones are cut until all have
 * room. What others write into children must not keep a handler from being asked.
 *
 * Guarantee (tests/unit/observedChildren.test.ts): they are never larger than that, also while more are taken.
 */
export class GivenChildren {
  /** Of the JSON of all of them. */
  bytes = 0;
  /** Of all of them, and of those that went before they were read. */
  readonly uids = new Set<string>();
  private readonly given: Given[] = [];

  take(child: KubernetesObject): void {
    const bytes = bytesOf(child);
    this.given.push({ child, bytes, cuts: 0 });
    this.bytes += bytes;
    while (this.bytes > MOST_GIVEN_BYTES && this.cutLargest()) {}
  }

  /** In the order in which they were taken. */
  get children(): KubernetesObject[] {
    return this.given.map(({ child }) => child);
  }

  /** A warning if children were cut. */
  get warnings(): { readonly reason: Extract<WarningReason, "ChildrenTooLarge">; readonly note: string }[] {
    const names = this.given
      .filter(({ cuts }) => cuts > 0)
      .map(({ child: { kind, metadata } }) => kindAndName(kind, metadata));
    if (names.length === 0) return [];
    const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
    const note = `the object's children have more than ${MOST_GIVEN_BYTES / 1024 / 1024} MiB of JSON in all, so the handler is given only the metadata of the largest: ${names.slice(0, MOST_NAMED).join(", ")}${more}. Remove what others wrote into them, or return smaller children.`;
    return [{ reason: "ChildrenTooLarge", note }];
  }

  /** @returns whether there was something to cut */
  private cutLargest(): boolean {
    let largest: Given | undefined;
    for (const each of this.given)
      if (each.cuts < CUTS.length && each.bytes > (largest?.bytes ?? 0)) largest = each;
    const cut = largest && CUTS[largest.cuts];
    if (!largest || !cut) return false;
    this.bytes -= largest.bytes;
    largest.child = cut(largest.child);
    largest.bytes = bytesOf(largest.child);
    largest.cuts++;
    this.bytes += largest.bytes;
    return true;
  }
}

function bytesOf(child: KubernetesObject): number {
  return Buffer.byteLength(jsonOf(child) ?? "");
}

/** What is asked for a handler's answer. */
interface Answering {
  ask(question: HandlerQuestion): Promise<HandlerReply>;
}

/**
 * Asks one question. The scrubber remembers all Secrets that the question gives to the handler, or that the handler has or
 * answers.
 */
export class QuestionSecrets implements Answering {
  /** In characters. */
  size = 0;
  private readonly names = new Set<string>();

  /**
   * @param pool knows what the handler's environment has of Secrets
   * @param objects the object that the handler is asked about, and its children. A watched Secret is given like a used one, and so is
   *   one among the children
   * @param used the Secrets among the objects that the object uses
   * @param run the id of the report of the handler's run, if it has one: see {@link Scrubber.learn}
   * @param assertWanted throws if the question is no longer to be asked
   */
  constructor(
    private readonly scrubber: Scrubber,
    private readonly pool: Asked,
    objects: readonly Manifest[],
    used: readonly Manifest[],
    private readonly run?: string,
    private readonly assertWanted?: () => void,
  ) {
    this.learn(objects, used);
    this.learnEnvironment();
  }

  /** Remembers the Secrets of an answer before anything is done with it: an answer that is refused has Secrets too. */
  async ask(question: HandlerQuestion): Promise<HandlerReply> {
    try {
      const reply = await this.pool.ask(question, this.assertWanted);
      const { children } = reply.answer;
      // They have not been checked yet.
      if (Array.isArray(children)) this.learn(children.filter(isManifest));
      return reply;
    } finally {
      // The question may have been the first for a container with another environment.
      this.learnEnvironment();
    }
  }

  private learnEnvironment(): void {
    const data = Object.fromEntries(this.pool.hidden().entries());
    if (Object.keys(data).length === 0) return;
    this.learn([], [{ apiVersion: "v1", kind: "Secret", metadata: { name: "environment" }, data }]);
  }

  private learn(objects: readonly Manifest[], secrets: readonly Manifest[] = []): void {
    for (const { metadata } of objects)
      for (const name of [metadata.name, metadata.namespace]) if (name !== undefined) this.names.add(name);
    const all = [...secrets, ...objects.filter(isSecretKind)];
    if (all.length > 0) this.size += this.scrubber.learn(all, this.run, this.names);
  }
}

function isManifest(value: unknown): value is Manifest {
  const { apiVersion, kind, metadata } = isRecord(value) ? value : {};
  const { name } = isRecord(metadata) ? metadata : {};
  return typeof apiVersion === "string" && typeof kind === "string" && typeof name === "string";
}

/**
 * Asks the handler, and accepts its answer only if the answer keeps the contract and does not report a failure.
 *
 * @param checkStatus says what is wrong with an answered status, or undefined
 * @param isOurs whether the object is one of the operator's own custom resources. If so, it has a status. If not, it has a state
 * @returns the answer, its length in characters, and the end of the handler's standard error
 * @throws ReconcileFailure if the handler crashes, hangs, breaks the contract, or says itself that it failed, and if it cannot be
 *   asked
 */
export async function askHandler<Answer extends HandlerAnswer>(
  pool: Answering,
  question: HandlerQuestion,
  checkStatus: (status: unknown) => string | undefined,
  isOurs = true,
): Promise<{ answer: Exclude<Answer, { error: unknown }>; length: number; log: string }> {
  const { answer: given, length, log } = await pool.ask(question);
  try {
    const answer = parseAnswer(given, question.event);
    if ("error" in answer) {
      const { message, ...when } = answer.error;
      throw new ReconcileFailure("HandlerError", message, when);
    }
    const problem = partWithoutPlace(answer, isOurs);
    if (problem) throw invalid(problem);
    const flaw = answer.status && checkStatus(answer.status);
    if (flaw) throw invalidStatus(flaw);
    return { answer: answer as Exclude<Answer, { error: unknown }>, length, log };
  } catch (error) {
    if (error instanceof ReconcileFailure) error.log = log;
    throw error;
  }
}
