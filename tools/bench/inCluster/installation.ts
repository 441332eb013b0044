import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../../../cli/common/until";
import type { Manifest } from "../../../runtime/base/objects";
import type { Objects, Reference } from "../../objects";
import type { Progress } from "../peer";
import { POD, whyNotReady } from "./readiness";

/** How long a form may take to become ready, including the pulling of images. */
const READY_TIMEOUT_MS = 300_000;
const GONE_TIMEOUT_MS = 60_000;
const NAMESPACE_TIMEOUT_MS = 180_000;
const POLL_MS = 250;

/** Kinds whose finalizers an installed controller has to remove, in the order of deletion. */
const FINALIZED = [["EventSource", "Sensor"], ["EventBus"]] as const;
const WORKFLOW = { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow" } as const;

/** The objects of a form in the cluster. They are applied group by group, and removed in an order that works. */
export class Installation {
  private readonly applied: Manifest[] = [];

  constructor(
    private readonly objects: Objects,
    private readonly progress: Progress,
  ) {}

  /**
   * Applies manifests one after another, and waits until their objects are ready.
   * @throws DeadlineError with the missing parts, after five minutes; the signal's reason
   */
  async apply(manifests: readonly Manifest[], signal: AbortSignal): Promise<void> {
    for (const manifest of manifests) {
      signal.throwIfAborted();
      this.applied.push(manifest);
      await this.objects.apply(manifest);
    }
    let why: string | undefined;
    const areReady = async () => {
      for (const manifest of manifests) {
        why = await whyNotReady(this.objects, manifest);
        if (why !== undefined) return false;
      }
      return true;
    };
    const what = () => why ?? "";
    await until(areReady, { what, deadlineMs: READY_TIMEOUT_MS, pollMs: POLL_MS, signal });
  }

  /**
   * Removes everything that was applied, whatever has happened: custom resources while their operator exists, and objects that
   * Argo finalizes while its controller exists. If an object does not go away by itself, its finalizers are removed. A failed
   * step does not prevent the others.
   * @throws Error the first error of a step
   */
  async remove(): Promise<void> {
    const manifests = [...this.applied].reverse();
    const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
    const definitions = ofKind("CustomResourceDefinition");
    const isArgos = ({ metadata: { name } }: Manifest) => name.endsWith(".argoproj.io");

    const rest = manifests.filter(({ metadata }) => metadata.namespace === undefined);
    const steps = [
      () => this.deleteAll(definitions.filter((definition) => !isArgos(definition))),
      async () => {
        for (const { metadata } of ofKind("Namespace")) await this.endWorkflows(metadata.name);
      },
      ...FINALIZED.map((kinds) => () => this.deleteAll(kinds.flatMap(ofKind))),
      () => this.deleteAll(rest, NAMESPACE_TIMEOUT_MS),
    ];
    const errors: unknown[] = [];
    for (const step of steps) await step().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
    this.applied.length = 0;
  }

  /** Removes Workflows first, because their controller removes its finalizers from their pods. */
  private async endWorkflows(namespace: string): Promise<void> {
    await this.deleteAll(await this.objects.list(WORKFLOW, namespace));
    const label = "workflows.argoproj.io/workflow";
    const pods = await this.objects.list(POD, namespace, label);
    await this.deleteAll(pods);
  }

  private async deleteAll(references: readonly Reference[], timeoutMs = GONE_TIMEOUT_MS): Promise<void> {
    for (const reference of references) await this.objects.delete(reference);
    let deadline = Date.now() + timeoutMs;
    let left = references;
    let released = false;
    for (;;) {
      left = await this.there(left);
      if (left.length === 0) return;
      if (Date.now() > deadline) {
        const names = left.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(", ");
        if (released) throw new Error(`these do not go away: ${names}. Remove them by hand.`);
        this.progress(`removing the finalizers of ${names}`);
        for (const reference of left) await this.release(reference);
        released = true;
        deadline = Date.now() + GONE_TIMEOUT_MS;
      }
      await sleep(POLL_MS);
    }
  }

  private async there(references: readonly Reference[]): Promise<Reference[]> {
    const found: Reference[] = [];
    for (const reference of references) if (await this.objects.find(reference)) found.push(reference);
    return found;
  }

  /**
   * Removes the finalizers of an object. For a namespace, these are the finalizers of objects in it that no controller finalizes
   * any more.
   */
  private async release(reference: Reference): Promise<void> {
    if (reference.kind !== "Namespace") return this.objects.release(reference);
    for (const kind of ["Pod", "EventSource", "Sensor", "EventBus"]) {
      const apiVersion = kind === "Pod" ? "v1" : WORKFLOW.apiVersion;
      for (const object of await this.objects.list({ apiVersion, kind }, reference.metadata.name)) {
        await this.objects.release(object);
      }
    }
  }
}
