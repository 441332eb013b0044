import { setTimeout as pause } from "node:timers/promises";
import { Counter, Gauge, Registry } from "prom-client";
import { withoutRepeats } from "../../base/notices";
import { KubernetesClient, PODS } from "../../kubernetes/client";
import { EventWriter } from "../../report/eventWriter";
import type { PodContext } from "../pod";
import { startTelemetryServer } from "../telemetryServer";
import {
  EVENT_PATH_PARTS,
  type EventPathPod,
  eventPathPodOf,
  eventPathSelector,
  outdatedPods,
} from "./eventPathPods";

/** How often to look, in milliseconds. */
const LOOK_MS = 10_000;
/** The shortest time between two replacements of the same sensor or event source, in milliseconds. */
const AGAIN_MS = 60_000;

/**
 * Keeps an event path whole: replaces the pod of a sensor or an event source if the event bus began after the pod. It changes
 * nothing else. It remembers only when it replaced a pod, so that another keeper can take its place.
 */
export class Keeper {
  readonly registry = new Registry();
  private readonly events: EventWriter;
  private readonly replaced: Counter<"part">;
  private readonly outdated: Gauge;
  /** When a pod of that part and pair was replaced last, on the monotonic clock. */
  private readonly replacedAt = new Map<string, number>();

  constructor(
    private readonly options: {
      readonly client: KubernetesClient;
      readonly namespace: string;
      /** The event path's name. */
      readonly eventPath: string;
      /** The name of the pod in which this process runs, for Kubernetes Events. */
      readonly instance: string;
      /** Called for each pod that is replaced, and for each error. */
      readonly onNotice: (notice: string) => void;
    },
  ) {
    const { eventPath, instance, onNotice } = options;
    this.registry.setDefaultLabels({ event_path: eventPath });
    this.replaced = new Counter({
      name: "argosy_event_path_pods_replaced_total",
      help: "Pods of sensors and event sources that were replaced because the event bus started after them, by part",
      labelNames: ["part"],
      registers: [this.registry],
    });
    for (const part of EVENT_PATH_PARTS.slice(1)) this.replaced.inc({ part }, 0);
    this.outdated = new Gauge({
      name: "argosy_event_path_pods_outdated",
      help: "Pods of sensors and event sources that started before the event bus: no event reaches an operator",
      registers: [this.registry],
    });
    this.events = new EventWriter({
      controller: `argosy/${eventPath}-keeper`,
      instance,
      onDrop: (reason) => onNotice(`event: ${reason}`),
    });
  }

  /** Looks again and again until the signal aborts. If a look fails, the next look tries again. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look().catch((error: Error) => this.options.onNotice(error.message));
      await pause(LOOK_MS, undefined, { signal }).catch(() => {});
    }
  }

  /**
   * Looks once.
   * @throws ApiError, ApiUnreachableError
   */
  async look(): Promise<void> {
    const { client, namespace, eventPath } = this.options;
    const pods: EventPathPod[] = [];
    await client.list(PODS, { namespace, labelSelector: eventPathSelector(eventPath) }, (items) => {
      pods.push(...items.flatMap((item) => eventPathPodOf(item) ?? []));
    });
    const outdated = outdatedPods(pods, client.now());
    this.outdated.set(outdated.length);
    for (const pod of outdated) await this.replace(pod);
  }

  private async replace({ object, part, shard }: EventPathPod): Promise<void> {
    const { client, onNotice } = this.options;
    const key = `${part}/${shard}`;
    const last = this.replacedAt.get(key);
    if (last !== undefined && performance.now() - last < AGAIN_MS) return;
    this.replacedAt.set(key, performance.now());
    const { name, namespace, uid } = object.metadata;
    if (!(await client.evict({ name, namespace }, uid))) return;
    this.replaced.inc({ part });
    const note = "the event bus restarted after this pod had started, so this pod would lose every event";
    onNotice(`replaced pod ${name}: ${note}`);
    const event = { type: "Warning", reason: "EventBusRestarted", note, action: "Evict" } as const;
    await this.events
      .write(client, object, event)
      .catch((error: Error) => onNotice(`event: ${error.message}`));
  }
}

/**
 * Keeps an event path working until the pod must end.
 * @throws Error if the port cannot be had
 */
export async function keep(context: PodContext): Promise<number> {
  const { environment, connection, log, stopping } = context;
  const { namespace, eventPath, pod: instance } = environment;
  const client = new KubernetesClient(connection);
  const onNotice = withoutRepeats((notice) => log("info", notice));
  const keeper = new Keeper({ client, namespace, eventPath, instance, onNotice });
  const telemetry = await startTelemetryServer(context, keeper.registry);
  log("info", `looking after event path ${eventPath}`);
  await keeper.run(stopping);
  client.close();
  await telemetry.close();
  return 0;
}
