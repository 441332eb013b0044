import { setTimeout as pause } from "node:timers/promises";
import type { JsonObject, KubernetesObject } from "../../../runtime/base/objects";
import type { RunOutcome } from "../../../runtime/programs/run/objectRun";
import { hasEnded, specOf, statusOf, WORKFLOW_TEMPLATES, WORKFLOWS } from "../../../runtime/report/workflows";
import type { Reference } from "../../../tools/objects";
import type { Api } from "./api";

/** What {@link PlayedArgo} plays with. */
export interface PlayedArgoOptions {
  readonly api: Api;
  /** The namespace of the Workflows. */
  readonly namespace: string;
  /** Does what the pod of a Workflow does. */
  readonly run: (workflow: string) => Promise<RunOutcome>;
}

const LOOK_MS = 100;

/**
 * Plays Argo's controller and its pods: each new Workflow gets the template's spec, one node, a pod, and an end. It has no locks: the
 * real controller is tried by the e2e and the chaos run.
 */
export class PlayedArgo {
  /** The Workflows whose pods have begun, in that order. */
  readonly begun: string[] = [];
  /** Workflows of these objects are not looked at. */
  readonly unseen = new Set<string>();
  /** Workflows of these objects wait for their pods. */
  readonly pending = new Set<string>();
  /** Pods of these objects end without a word. */
  readonly silent = new Set<string>();
  private readonly known = new Set<string>();
  private readonly working = new Set<Promise<void>>();
  private readonly playing: Promise<void>;
  private isStopped = false;

  constructor(private readonly options: PlayedArgoOptions) {
    this.playing = this.play();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.playing;
    await Promise.all(this.working);
  }

  private async play(): Promise<void> {
    const { api, namespace } = this.options;
    while (!this.isStopped) {
      const workflows = await api.list(WORKFLOWS, namespace);
      for (const workflow of workflows) {
        const { uid } = workflow.metadata;
        const object = nameIn(workflow);
        const isOurs = statusOf(workflow).phase === undefined || statusOf(workflow).phase === "Pending";
        if (!isOurs || this.known.has(uid) || this.unseen.has(object) || hasEnded(workflow)) continue;
        if (this.pending.has(object)) await this.write(workflow, "Pending", "Pending");
        else if (!specOf(workflow).suspend) this.begin(workflow);
      }
      await pause(LOOK_MS);
    }
  }

  private begin(workflow: KubernetesObject): void {
    this.known.add(workflow.metadata.uid);
    const work = this.work(workflow)
      .catch(() => {})
      .finally(() => this.working.delete(work));
    this.working.add(work);
  }

  private async work(workflow: KubernetesObject): Promise<void> {
    await this.write(workflow, "Running", "Running");
    this.begun.push(workflow.metadata.name);
    const isSilent = this.silent.has(nameIn(workflow));
    const { exitCode, message } = isSilent
      ? { exitCode: 1, message: "pod deleted" }
      : await this.options.run(workflow.metadata.name);
    const phase = exitCode === 0 ? "Succeeded" : "Failed";
    await this.write(workflow, phase, phase, message);
  }

  /** Writes the state of a Workflow, unless people have ended it. */
  private async write(
    { metadata: { name, namespace } }: KubernetesObject,
    phase: string,
    node: string,
    message = "",
  ): Promise<void> {
    const { api } = this.options;
    const workflow: Reference = { ...WORKFLOWS, metadata: { name, ...(namespace && { namespace }) } };
    const now = await api.find(workflow);
    if (!now || hasEnded(now)) return;
    const { phase: before, storedWorkflowTemplateSpec: stored } = statusOf(now);
    if (before === phase) return;
    const storedWorkflowTemplateSpec = (stored ?? (await this.template(now))) as JsonObject | undefined;
    await api.patch(workflow, {
      ...(phase !== "Running" &&
        phase !== "Pending" && {
          metadata: { labels: { "workflows.argoproj.io/completed": "true" } },
        }),
      status: {
        phase,
        message,
        ...(storedWorkflowTemplateSpec && { storedWorkflowTemplateSpec }),
        nodes: { main: { displayName: "main", phase: node, ...(message && { message }) } },
      },
    });
  }

  private async template(workflow: KubernetesObject): Promise<unknown> {
    const { name = "" } = specOf(workflow).workflowTemplateRef ?? {};
    const template = { ...WORKFLOW_TEMPLATES, metadata: { name, namespace: this.options.namespace } };
    return (await this.options.api.find(template))?.["spec"];
  }
}

function nameIn(workflow: KubernetesObject): string {
  const { parameters = [] } = specOf(workflow).arguments ?? {};
  return String(parameters.find(({ name }) => name === "name")?.value ?? "");
}
