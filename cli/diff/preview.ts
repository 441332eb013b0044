import { z } from "zod";
import { type FailureReason, ReconcileFailure } from "../../runtime/base/failure";
import { isSecretKind } from "../../runtime/base/kinds";
import { annotated, DOMAIN, fieldManagerOf, PAUSED_ANNOTATION } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import {
  ApiError,
  type ChildChange,
  type ChildrenScope,
  childKey,
  type DesiredChild,
  DirectUse,
  isExpired,
  isRace,
  markManagerOf,
  type Operator,
  StillListingError,
  statusChecker,
  storeKey,
  Timeline,
  type Written,
  wasCreated,
  writeChildren,
} from "../../runtime/cli";
import { OBJECT_REFERENCE, type ObjectReference, referenceTo } from "../common/objectReference";
import { DRY_RUN_REFUSED } from "../errors/catalogue";
import { changedFields, commonPart, FIELD_CHANGE, type FieldChange } from "./changedFields";
import { type DryRunClient, isRefusedDryRun, type TriedWrite } from "./dryRunClient";
import { type ListedChildren, listChildren } from "./listedChildren";
import { Observation, type ObservationOptions } from "./observation";
import { PreviewAsking, type PreviewAskingOptions } from "./previewAsking";
import type { SecretMade } from "./secretMade";
import { SecretMask } from "./secretMask";

/** The schema of a {@link ChildPreview}. */
const CHILD_PREVIEW = z.strictObject({
  fate: z
    .enum(["created", "changed", "recreated", "adopted", "deleted", "waits"])
    .describe("waits: nothing happens yet, because other children must be ready first."),
  object: OBJECT_REFERENCE,
  fields: z
    .array(FIELD_CHANGE)
    .readonly()
    .describe("The fields that would change. For a new child, all fields of the handler's answer."),
  after: z.array(OBJECT_REFERENCE).readonly().optional().describe("The children that it waits for."),
});

/** A child that would not stay as it is. */
export type ChildPreview = Readonly<z.infer<typeof CHILD_PREVIEW>>;

/** What would happen to a child. */
export type ChildFate = ChildPreview["fate"];

/** The reason of a failed preview. */
export type PreviewFailureReason = FailureReason | typeof DRY_RUN_REFUSED;

/** The schema of an {@link ObjectPreview}. */
export const OBJECT_PREVIEW = z.strictObject({
  operator: z.string(),
  installation: z.string(),
  object: OBJECT_REFERENCE,
  result: z
    .enum(["changed", "unchanged", "failed", "paused", "deleting", "expired"])
    .describe(
      "paused, deleting, expired: the handler is not asked, since its operator would do nothing by its answer. failed: there is " +
        "no valid answer, or a child is refused. The changes before that are in children.",
    ),
  children: z.array(CHILD_PREVIEW).readonly(),
  notes: z
    .array(z.string())
    .readonly()
    .optional()
    .describe(
      "What the handler was not given, or the user is not shown, and why. Left out if there is nothing of that kind.",
    ),
  failure: z
    .strictObject({
      reason: z.string().describe("A code, which argosy errors explains."),
      message: z.string(),
      log: z.string().optional().describe("The end of what the handler wrote to standard error."),
    })
    .optional(),
});

/** What a handler would change for one object. */
export type ObjectPreview = Readonly<z.infer<typeof OBJECT_PREVIEW>>;

/** What {@link Previews} work with. */
export interface PreviewOptions
  extends Omit<ObservationOptions, "source">,
    Omit<PreviewAskingOptions, "checkStatus"> {
  readonly client: DryRunClient;
  /** Give the handler the values of Secrets. @default false */
  readonly withSecrets?: boolean | undefined;
  /** Show the end: children are tried that wait for others, as if those were ready. @default false */
  readonly eventual?: boolean | undefined;
}

/** The marks and similar fields that every child gets, which are not shown. */
const OWN_MARKS = new RegExp(`^\\.metadata\\.(ownerReferences\\b|(labels|annotations)\\['${DOMAIN}/)`);

/**
 * Says what an operator's handler would change for objects, by the engine's own steps on a client that writes nothing.
 *
 * Guarantee (tests/integration/cliDiff.test.ts): nothing in the cluster changes.
 *
 * Caveat: finalizers, the status, and the reactions of others to the changes are left out.
 */
export class Previews {
  private readonly checkStatus: (status: unknown) => string | undefined;
  private readonly source: DirectUse;

  constructor(private readonly options: PreviewOptions) {
    this.checkStatus = statusChecker(options.operator.customResource.statusSchema);
    this.source = new DirectUse(options.operator, options.client);
  }

  /**
   * The children of these objects, to be given to {@link of}.
   * @throws ApiError if a kind may not be listed
   */
  children(objects: readonly KubernetesObject[]): Promise<ListedChildren> {
    return listChildren(this.options, objects);
  }

  /**
   * What the handler would change for one object.
   * @param object as it is, or as it is to be tried
   * @param children as {@link children} gave them: its own are chosen
   * @throws ApiUnreachableError
   */
  async of(object: KubernetesObject, children: ListedChildren): Promise<ObjectPreview> {
    const { operator, resource } = this.options;
    const { name, installation } = operator;
    const about = { operator: name, installation, object: referenceTo(resource, object.metadata) };
    const idle = whyIdle(object, operator);
    if (idle) return { ...about, result: idle, children: [] };
    const { options, source, checkStatus } = this;
    const shown: ShownChild[] = [];
    let tried: TriedObject;
    let failure: ObjectPreview["failure"];
    let more: readonly ShownChild[];
    do {
      tried = new TriedObject(options, object, children, shown, source, checkStatus);
      failure = await tried.make();
      more = tried.shown();
      shown.push(...more);
    } while (more.length > 0);
    const found = tried.children();
    const isChange = found.some(({ fate }) => fate !== "waits");
    const result = failure ? "failed" : isChange ? "changed" : "unchanged";
    const notes = tried.notes();
    return {
      ...about,
      result,
      children: found,
      ...(notes.length > 0 && { notes }),
      ...(failure && { failure }),
    };
  }
}

/** Why an operator does nothing by its handler's answer. */
function whyIdle(object: KubernetesObject, operator: Operator): ObjectPreview["result"] | undefined {
  if (annotated(object.metadata, PAUSED_ANNOTATION)) return "paused";
  if (object.metadata.deletionTimestamp !== undefined) return "deleting";
  return isExpired(object, operator, Date.now()) ? "expired" : undefined;
}

/** An object as it is when it has become a child, in the version that it has now. */
interface ShownChild {
  readonly resource: Resource;
  readonly object: KubernetesObject;
}

/** One object, asked about and tried. */
class TriedObject {
  private readonly client: DryRunClient;
  private readonly mask: SecretMask;
  private readonly observation: Observation;
  private readonly asking: PreviewAsking;
  private desired: readonly DesiredChild[] = [];
  private made: SecretMade | undefined;
  private written: Written | undefined;

  constructor(
    private readonly options: PreviewOptions,
    private readonly object: KubernetesObject,
    listed: ListedChildren,
    shown: readonly ShownChild[],
    source: DirectUse,
    checkStatus: (status: unknown) => string | undefined,
  ) {
    this.client = options.client.recording(shown.map((each) => each.object));
    this.mask = new SecretMask(options.withSecrets);
    this.observation = new Observation({ ...options, client: this.client, source }, object, listed);
    for (const each of shown) this.observation.writing.children.learn(each.resource, [each.object]);
    this.asking = new PreviewAsking({ ...options, checkStatus }, object, this.observation, this.mask);
  }

  /** @returns why there is no valid answer, or what the API server refuses */
  async make(): Promise<ObjectPreview["failure"]> {
    try {
      const memory = await this.observation.memory();
      const { children, made } = await this.asking.ask(memory);
      this.made = made;
      this.desired = children.map(({ after, ...child }) => ({
        ...child,
        ...(after && !this.options.eventual && { after }),
        isCreated: wasCreated(memory, child),
      }));
      this.written = await writeChildren(
        this.observation.writing,
        this.object,
        this.desired,
        memory,
        this.scope(),
      );
      const { failure } = this.written;
      return failure && this.failureOf(failure.error);
    } catch (error) {
      return this.failureOf(error);
    }
  }

  /** The objects that became children, if the handler must be asked again because of them. */
  shown(): ShownChild[] {
    if (!isRace(this.written?.failure?.error)) return [];
    const byMarks = markManagerOf(fieldManagerOf(this.options.operator));
    return this.client.tried.flatMap(({ resource, live, wanted, fieldManager }) => {
      if (!live || !wanted || fieldManager !== byMarks) return [];
      const { resourceVersion } = live.metadata;
      return [{ resource, object: { ...wanted, metadata: { ...wanted.metadata, resourceVersion } } }];
    });
  }

  /** What would happen to children, in the order of their kinds and names. */
  children(): ChildPreview[] {
    if (!this.written) return [];
    const { changes, progress } = this.written;
    const done = changes.flatMap((change) => this.previewOf(change) ?? []);
    const { ready } = progress;
    const waiting = progress.waiting.map((child): ChildPreview => {
      const awaited = (child.after ?? []).filter((key) => !ready.has(key));
      const after = this.desired.filter((each) => awaited.includes(childKey(each))).map(referenceOf);
      return { fate: "waits", object: referenceOf(child), fields: [], after };
    });
    return [...done, ...waiting];
  }

  /** What the handler was not given, or the user is not shown, and why. */
  notes(): string[] {
    return this.asking.warnings.map(({ note }) => this.mask.text(note));
  }

  /** The object need not exist, because it may only be tried. */
  private scope(): ChildrenScope {
    const { client, object, mask } = this;
    const { namespace } = object.metadata;
    return {
      client,
      namespace,
      masked: (text) => mask.text(text),
      confirmOwner: async () => {},
      timeline: new Timeline(),
    };
  }

  private previewOf(change: ChildChange): ChildPreview | undefined {
    const { verb, apiVersion, kind, namespace, name } = change;
    const write = this.client.tried.findLast(
      ({ resource, name: written }) => storeKey(resource, written) === storeKey(change, change),
    );
    if (!write) return undefined;
    const fate = verb === "patched" ? "changed" : verb;
    const child = this.desired.find(
      ({ resource, manifest }) => storeKey(resource, manifest.metadata) === storeKey(change, change),
    );
    const isMade = this.made?.fieldsOf(child) ?? (() => false);
    const isOfSecret = isSecretKind({ apiVersion, kind });
    const fields = this.mask.fields(
      fieldsOf(fate, write),
      (path) => isMade(path) || (isOfSecret && /^\.(data|stringData)\b|last-applied/.test(path)),
    );
    return { fate, object: referenceTo({ apiVersion, kind }, { namespace, name }), fields };
  }

  private failureOf(error: unknown): ObjectPreview["failure"] {
    const { log } = this.asking;
    const told = (reason: PreviewFailureReason, message: string, words: string) => ({
      reason,
      message: this.mask.text(message),
      ...(words !== "" && { log: this.mask.text(words) }),
    });
    if (isRefusedDryRun(error) || (error instanceof Error && isRefusedDryRun(error.cause))) {
      const why =
        "An admission webhook handles this write but does not support dry runs, so the write cannot be tried.";
      return told(DRY_RUN_REFUSED, `${(error as Error).message} ${why}`, log);
    }
    if (error instanceof ReconcileFailure) return told(error.reason, error.message, error.log || log);
    if (error instanceof ApiError) return told("ApiError", error.message, log);
    if (error instanceof StillListingError) return told("UsedNotReadable", error.message, log);
    throw error;
  }
}

function fieldsOf(fate: ChildFate, { live, wanted, manifest }: TriedWrite): FieldChange[] {
  if (!wanted) return [];
  if (fate === "recreated" && live) {
    // The new object gets values that the API server generates, such as the labels of a Job.
    return changedFields(commonPart(live, manifest) as object, commonPart(wanted, manifest) as object);
  }
  if (live) return changedFields(live, wanted);
  const { apiVersion: _a, kind: _k, metadata, ...content } = manifest ?? wanted;
  const { name: _n, namespace: _ns, ...rest } = metadata;
  return changedFields({}, { metadata: rest, ...content }).filter(({ path }) => !OWN_MARKS.test(path));
}

function referenceOf({ resource, manifest }: DesiredChild): ObjectReference {
  return referenceTo(resource, manifest.metadata);
}
