import assert from "node:assert/strict";
import { connectionAs } from "../../cli/local/serviceAccountToken";
import { buildKeeper } from "../../components/manifests/eventPath/keeper";
import { JETSTREAM_VERSION } from "../../components/manifests/platform/argoEvents";
import type { Manifest } from "../../runtime/base/objects";
import { KubernetesClient, PODS } from "../../runtime/kubernetes/client";
import { isApiError } from "../../runtime/kubernetes/errors";
import { Keeper } from "../../runtime/programs/keep/keeper";
import type { Reference } from "../../tools/objects";
import { aSecond, eventually } from "../support/eventually";
import { samplePlatform } from "../unit/support/platform";
import type { Api } from "./support/api";
import { sharedCluster } from "./support/cluster";
import { configMap, inNamespace } from "./support/manifests";

const LABELS = { "event-bus": "eventbus-name", sensor: "sensor-name", "event-source": "eventsource-name" };
type Part = keyof typeof LABELS;

/** The keeper next to pods that only have the names: the real ones are seen on a real cluster. */
describe("the keeper of the event path", function () {
  this.timeout(120_000);
  let api: Api;
  let client: KubernetesClient;
  let namespace: string;
  /** How far the clock of the API server is ahead of this machine's. */
  let aheadMs = 0;

  before(async function () {
    this.timeout(0);
    const cluster = await sharedCluster();
    api = cluster.api;
    namespace = await api.newNamespace("event-path");
    const set = buildKeeper(
      {
        name: "argosy",
        platform: samplePlatform({ namespace, instanceId: "", jetStreamVersion: JETSTREAM_VERSION }),
        placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
        eventBus: { replicas: 1 },
      },
      configMap("engine"),
    );
    const { keeper: _, ...account } = set;
    for (const manifest of Object.values(account)) await api.apply(manifest);
    client = new KubernetesClient(connectionAs({ name: "argosy-keeper", namespace }, cluster.connection));
    client.now = () => Date.now() + aheadMs;
  });

  after(() => client?.close());

  const pod = (part: Part, name: string): Reference & Manifest =>
    inNamespace(
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          name,
          labels: {
            "app.kubernetes.io/name": "argosy",
            "app.kubernetes.io/component": part,
            [LABELS[part]]: "argosy",
          },
        },
        spec: { containers: [{ name: "main", image: "example.com/main:1" }] },
      },
      namespace,
    ) as Reference & Manifest;

  /** Creates a pod in a later second than those before, as their times tell. */
  async function begin(part: Part, name: string): Promise<void> {
    await aSecond();
    await api.create(pod(part, name));
    await eventually(async () => {
      const { status } = await api.get(pod(part, name));
      const { conditions = [] } = status as { conditions?: { type: string; status: string }[] };
      assert.ok(conditions.some(({ type, status: value }) => type === "Ready" && value === "True"));
    });
  }

  const newKeeper = (onNotice: (notice: string) => void = () => {}) =>
    new Keeper({ client, namespace, eventPath: "argosy", instance: "keeper-0", onNotice });

  it("replaces the sensor's pod, and then the event source's, where the bus began after them, and tells", async () => {
    const notices: string[] = [];
    const keeper = newKeeper((notice) => void notices.push(notice));
    await begin("sensor", "sensor-0");
    await begin("event-source", "source-0");
    await begin("event-bus", "bus-0");
    // May not be allowed yet: roles reach the API server's authorizer a moment after their making.
    await eventually(() => keeper.look());
    await api.get(pod("sensor", "sensor-0"));

    aheadMs = 60_000;
    await keeper.look();
    await eventually(() => api.assertGone(pod("sensor", "sensor-0")));
    await api.get(pod("event-source", "source-0"));
    await begin("sensor", "sensor-1");
    await keeper.look();
    await eventually(() => api.assertGone(pod("event-source", "source-0")));
    await begin("event-source", "source-1");
    await keeper.look();
    for (const [part, name] of [
      ["event-bus", "bus-0"],
      ["sensor", "sensor-1"],
      ["event-source", "source-1"],
    ] as const) {
      assert.equal((await api.get(pod(part, name))).metadata.deletionTimestamp, undefined, name);
    }
    const text = await keeper.registry.metrics();
    for (const part of ["sensor", "event-source"]) {
      assert.match(text, new RegExp(`pods_replaced_total\\{part="${part}",event_path="argosy"\\} 1\\n`));
    }
    assert.equal(notices.length, 2);
    await eventually(async () => {
      const events = await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, namespace);
      const told = events.filter(({ reason }) => reason === "EventBusRestarted");
      assert.deepEqual(
        told.map(({ action }) => action),
        ["Evict", "Evict"],
      );
    });
  });

  it("replaces none of a pair twice within a minute", async () => {
    const keeper = newKeeper();
    aheadMs = 60_000;
    await begin("event-bus", "bus-1");
    await keeper.look();
    await eventually(() => api.assertGone(pod("sensor", "sensor-1")));
    await begin("sensor", "sensor-2");
    await begin("event-bus", "bus-2");
    await keeper.look();
    assert.equal((await api.get(pod("sensor", "sensor-2"))).metadata.deletionTimestamp, undefined);
    assert.match(await keeper.registry.metrics(), /pods_outdated\{event_path="argosy"\} 1\n/);
  });

  it("may do nothing else to a pod, nor override a disruption budget", async () => {
    const denied = (call: Promise<unknown>) => assert.rejects(call, (error) => isApiError(error, 403));
    await denied(client.delete(PODS, { namespace, name: "bus-0" }));
    await denied(client.mergePatch(PODS, { namespace, name: "bus-0" }, { metadata: { labels: { a: "b" } } }));
    await denied(client.list(PODS, {}, () => {}));
    const guarded = pod("sensor", "guarded");
    await api.create({ ...guarded, metadata: { ...guarded.metadata, labels: { guarded: "yes" } } });
    await api.create(
      inNamespace(
        {
          apiVersion: "policy/v1",
          kind: "PodDisruptionBudget",
          metadata: { name: "guarded" },
          spec: { minAvailable: 1, selector: { matchLabels: { guarded: "yes" } } },
        },
        namespace,
      ),
    );
    const { uid } = (await api.get(guarded)).metadata;
    await eventually(async () => {
      const budget = {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name: "guarded", namespace },
      };
      const { status } = await api.get(budget);
      assert.equal((status as { currentHealthy?: number }).currentHealthy, 1);
    });
    await assert.rejects(client.evict({ namespace, name: "guarded" }, uid), (error) =>
      isApiError(error, 429),
    );
  });
});
