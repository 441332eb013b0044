// The Workflows of runs, as a watch shows them.
import { within } from "../../base/clock";
import { dropOldest } from "../../base/limits";
import { identityOf, OPERATOR_LABEL } from "../../base/names";
import type { KubernetesObject } from "../../base/objects";
import type { KubernetesClient } from "../../kubernetes/client";
import { named } from "../../kubernetes/list";
import { KindWatch, type NotSynced } from "../../observe/kindWatch";
import { Store } from "../../observe/store";
import type { Operator } from "../../operator/definition";
import {
  hasEnded,
  WORKFLOW_LABELS,
  WORKFLOW_TEMPLATES,
  WORKFLOWS,
  workflowTemplateOf,
} from "../../report/workflows";
import { programFingerprint } from "./footprint";
import { type LiveRun, liveRunOf } from "./liveRun";

/** What a {@link RunStore} watches, and who is called. */
export interface RunStoreOptions {
  readonly client: KubernetesClient;
  readonly operator: Operator;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
  /** A Workflow about an object has changed in a way that concerns the object. @param hasEnded whether it has ended or is gone */
  readonly onChanged: (run: LiveRun, hasEnded: boolean) => void;
  /** The template of the runs has another program than before. */
  readonly onProgram: () => void;
  readonly onInterruption: (kind: string, error: Error) => void;
}

/** How long a fresh list is awaited, in milliseconds. */
const REFRESH_PATIENCE_MS = 10_000;
/** How many ended Workflows are remembered: a user may retry one of them. */
const MOST_ENDED = 10_000;

/**
 * The Workflows of an operator's runs that have not ended, by the objects that they are about, and the program of their template.
 *
 * Guarantee (tests/integration/podDispatchRuns.test.ts): a run of ours that has ended, and that a user retries, counts as that
 * user's. A process that did not see it end counts it as ours, and waits for it.
 */
export class RunStore {
  /** A fingerprint of the program of the template: see `programFingerprint`. Undefined if that is not known. */
  program: string | undefined;
  private readonly store: Store<LiveRun>;
  private readonly ended = new Set<string>();
  private readonly runs: KindWatch;
  private readonly template: KindWatch;
  /** Whether the runs were listed since the term began. */
  private isListed = false;
  private listing: Promise<boolean> | undefined;

  constructor(private readonly options: RunStoreOptions) {
    const { client, operator, namespace, onInterruption } = options;
    this.store = new Store<LiveRun>({
      client,
      factsOf: (workflow) => (hasEnded(workflow) ? undefined : liveRunOf(workflow, operator)),
      onChange: ({ before, after }) => this.changed(before?.facts, after?.facts),
      mostKept: 0,
    });
    const watched = { client, namespaces: [namespace], onSynced: () => {} };
    this.runs = new KindWatch({
      ...watched,
      resource: WORKFLOWS,
      labelSelector: `${OPERATOR_LABEL}=${identityOf(operator)},${WORKFLOW_LABELS.completed}!=true`,
      sink: () => this.store.sink(WORKFLOWS, namespace),
      onInterruption: (error) => onInterruption(WORKFLOWS.kind, error),
    });
    this.template = new KindWatch({
      ...watched,
      resource: WORKFLOW_TEMPLATES,
      ...named(workflowTemplateOf(operator.name)),
      sink: () => ({
        listing: () => {},
        set: ({ spec }) => {
          const before = this.program;
          this.program = programFingerprint(spec);
          if (before !== undefined && before !== this.program) options.onProgram();
        },
        listed: () => {},
        remove: () => {},
      }),
      onInterruption: (error) => onInterruption(WORKFLOW_TEMPLATES.kind, error),
    });
  }

  /** Begins to watch. Resolves when everything was listed, or was refused. */
  async startWatching(): Promise<void> {
    this.runs.startWatching();
    this.template.startWatching();
    await Promise.all([this.runs.whenListed(), this.template.whenListed()]);
  }

  async stopWatching(): Promise<void> {
    await Promise.all([this.runs.stopWatching(), this.template.stopWatching()]);
  }

  /** A term begins: what is known of the runs may be older than what the former leader did. They are listed again. */
  async refresh(): Promise<void> {
    this.isListed = false;
    await within(REFRESH_PATIENCE_MS, this.list());
  }

  /** Why no run may begin: the runs there are must be known. Undefined: they are. */
  notListed(): NotSynced | undefined {
    const [unknown] = this.runs.notSynced(undefined);
    if (unknown || this.isListed) return unknown;
    void this.list();
    return { resource: WORKFLOWS, namespace: this.options.namespace, problem: undefined };
  }

  /** The runs of an object that have not ended. */
  of(key: string): LiveRun[] {
    return [...this.store.values()].map(({ facts }) => facts).filter(({ object }) => object === key);
  }

  /** The run of ours of an object that has not ended. If there are several, the one that was created first. */
  ownOf(key: string): LiveRun | undefined {
    return this.of(key)
      .filter((run) => this.isOwn(run))
      .sort((one, other) => one.createdAt - other.createdAt)[0];
  }

  /** Every run of ours that has not ended. */
  *own(): Iterable<LiveRun> {
    for (const { facts } of this.store.values()) if (this.isOwn(facts)) yield facts;
  }

  /** Stores a run that we have created, before the watch brings it. */
  learn(workflow: KubernetesObject): void {
    this.store.set(WORKFLOWS, workflow, "handled");
  }

  /** Whether the dispatcher submitted that run, and it has not ended since. */
  isOwn({ mark, uid }: LiveRun): boolean {
    return mark !== undefined && !this.ended.has(uid);
  }

  private async list(): Promise<void> {
    this.listing ??= this.runs.relist().finally(() => {
      this.listing = undefined;
    });
    if (await this.listing) this.isListed = true;
  }

  private changed(before: LiveRun | undefined, after: LiveRun | undefined): void {
    if (before && before.uid !== after?.uid) {
      const wasOwn = this.isOwn(before);
      this.ended.add(before.uid);
      dropOldest(this.ended, MOST_ENDED);
      this.options.onChanged(wasOwn ? before : { ...before, mark: undefined }, true);
    }
    if (!after) return;
    const isNews = before?.isSuspended !== after.isSuspended || before.hasBegun !== after.hasBegun;
    if (before?.uid === after.uid && isNews) this.options.onChanged(after, false);
  }
}
