import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { freezeApiServer } from "./support/apiServer";
import { session } from "./support/hooks";
import { kubectl, needKubectl } from "./support/kubectl";
import { LONG_MS, waitFor } from "./support/progress";
import {
  allAreThere,
  CRD,
  crashBus,
  deployReleases,
  idOf,
  killOutside as kill,
  RELEASES,
  type ReleasesStack,
  releases,
  releasesOf,
  selectorOf,
  sensorAsks,
  TOKEN,
  URL,
  warnings,
} from "./support/releases";
import { NAMESPACE } from "./support/session";
import { planWebhooks, startSender } from "./support/webhooks";

const EVENTS = 1_000;
/** Of almost a megabyte each: more than the stream's half of a volume holds. */
const LARGE = 90;
const FEW = 20;

/** What goes wrong, a round each. Each ends by itself. */
const FAULTS: Readonly<Record<string, () => Promise<unknown>>> = {
  nothing: async () => {},
  "bus killed": () => kill("event-bus"),
  "bus crashed": crashBus,
  "source killed": () => kill("event-source"),
  "sensor killed": () => kill("sensor"),
  "intakes killed": () => kill("intake"),
  "bus and source killed": () => kill("event-bus", "event-source"),
  "bus, sensor and intakes killed": () => kill("event-bus", "sensor", "intake"),
  "no room in the quota, and another sensor": withoutRoom,
  "API server frozen": freezeApiServer,
  "all killed": () => kill("event-bus", "event-source", "sensor", "intake"),
};

describe("events from outside", function () {
  this.timeout(LONG_MS);
  const rounds = Object.entries(FAULTS);
  const plan = planWebhooks(EVENTS, rounds.length);
  let stack: ReleasesStack | undefined;

  before(async function () {
    needKubectl(this);
    // A volume for the bus, and one for after its loss.
    stack = await deployReleases("outside", {}, 2);
  });

  after(() => stack?.takeDown());

  it("are accepted only with the secret", async () => {
    const body = { event: "published", repository: "example/other", version: "0.1.0" };
    const ids = async () => (await releases()).map(idOf);
    const sender = await startSender(URL, TOKEN, [body]);
    await sender.ended();
    await waitFor(
      "the first object",
      async () => assert.deepEqual(await ids(), ["example/other/0.1.0"]),
      LONG_MS,
    );
    const stranger = await startSender(URL, "another token", [{ ...body, version: "0.2.0" }], { tries: 1 });
    assert.deepEqual(Object.keys(await stranger.ended()), ["401"]);
    // A later one has arrived, and it has not.
    await (await startSender(URL, TOKEN, [{ ...body, version: "0.3.0" }])).ended();
    await waitFor("the last object", async () =>
      assert.deepEqual((await ids()).sort(), ["example/other/0.1.0", "example/other/0.3.0"]),
    );
  });

  for (const [index, [fault, inflict]] of rounds.entries()) {
    it(`are taken in spite of: ${fault}`, async () => {
      const sender = await startSender(URL, TOKEN, plan.rounds[index] ?? []);
      await inflict();
      await sender.ended();
    });
  }

  it(`become one object or one Warning each, of ${EVENTS}`, async () => {
    const found = async () => new Map((await releases()).map((release) => [idOf(release), release]));
    const missing = async (): Promise<void> => {
      const all = await found();
      const ids = [...plan.objects.keys()].filter((id) => !all.has(id));
      assert.deepEqual(ids.slice(0, 10), [], `${ids.length} are missing`);
    };
    await waitFor("the last objects", missing, 600_000);
    await waitFor(
      "the last Warnings",
      async () => {
        const told = await warnings();
        assert.deepEqual(idsIn(told, "EventRefused"), [...plan.refused].sort());
        assert.deepEqual(idsIn(told, "EventContradicts"), [...plan.contradicted].sort());
      },
      600_000,
    );
    const ours = (await releases()).filter((release) => idOf(release).startsWith("example/shop/"));
    assert.equal(ours.length, plan.objects.size);
    for (const release of ours) {
      const { by, ...spec } = release["spec"] as Record<string, string>;
      assert.equal(by, "webhook");
      const wanted = plan.objects.get(idOf(release)) ?? [];
      assert.ok(
        wanted.some((each) => JSON.stringify(each) === JSON.stringify(ordered(spec))),
        `${JSON.stringify(spec)} is none of ${JSON.stringify(wanted)}`,
      );
    }
  });

  it("are refused while the bus is full, and none is lost", async () => {
    const bodies = releasesOf("example/large", LARGE).map((body) => ({ ...body, padding: 900_000 }));
    await scale("sensor", 0);
    const sender = await startSender(URL, TOKEN, bodies);
    await waitFor("a full bus", () => sender.isAnswered(500), 600_000);
    await scale("sensor", 1);
    await sender.ended();
    await allAreThere("example/large", LARGE);
  });

  it("are refused once the bus has lost its volume, until what docs/events.md tells is done", async () => {
    const volumes = { apiVersion: "v1", kind: "PersistentVolumeClaim" };
    const [lost] = (await session().api.list(volumes, NAMESPACE)).filter(({ metadata }) =>
      metadata.name.includes("eventbus-argosy-outside"),
    );
    assert.ok(lost, "the bus has no volume");
    await kubectl("delete", "pvc", "--wait=false", "--namespace", NAMESPACE, lost.metadata.name);
    await kubectl("delete", "pod", "--namespace", NAMESPACE, "--selector", selectorOf("event-bus"));
    await waitFor("a new volume", async () => {
      const found = await session().api.get({ ...volumes, metadata: lost.metadata });
      assert.notEqual(found.metadata.uid, lost.metadata.uid);
      assert.equal((found["status"] as { phase?: string }).phase, "Bound");
    });
    const sender = await startSender(URL, TOKEN, releasesOf("example/emptied", FEW));
    await waitFor("a refusal", () => sender.isAnswered(500), 300_000);
    await scale("event-source", 0);
    await kubectl("delete", "pod", "--namespace", NAMESPACE, "--selector", selectorOf("sensor"));
    await sensorAsks();
    await scale("event-source", 1);
    await sender.ended();
    await allAreThere("example/emptied", FEW);
  });

  it("are handled like any other object", async () => {
    await waitFor(
      "their ConfigMaps",
      async () => {
        const children = await session().api.list({ apiVersion: "v1", kind: "ConfigMap" }, RELEASES);
        const owned = children.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === "Release");
        assert.equal(owned.length, (await releases()).length);
      },
      600_000,
    );
  });
});

function ordered({ repository, version, notes }: Readonly<Record<string, string>>) {
  return { repository, version, notes };
}

/** The ids that Warnings name, each as often as there is one. */
function idsIn(events: readonly KubernetesObject[], reason: string): string[] {
  return events
    .filter((event) => event["reason"] === reason)
    .map((event) => /with the id "([^"]+)"/.exec(String(event["note"]))?.[1] ?? "none")
    .sort();
}

/** Stops a part that Argo deploys, or starts it again, and waits for its pods. */
async function scale(component: "sensor" | "event-source", replicas: 0 | 1): Promise<void> {
  const where = ["--namespace", NAMESPACE, "--selector", selectorOf(component)];
  await kubectl("scale", "deployment", `--replicas=${replicas}`, ...where);
  await waitFor(`${replicas} pods of the ${component}`, async () => {
    const pods = await session().api.list(
      { apiVersion: "v1", kind: "Pod" },
      NAMESPACE,
      selectorOf(component),
    );
    assert.equal(pods.length, replicas);
  });
}

/** For a while no object can be made. In that time the sensor is replaced while it holds an event, as a roll-out does it. */
async function withoutRoom(): Promise<void> {
  const quota: Manifest = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "narrow", namespace: RELEASES },
    spec: { hard: { [`count/${CRD}`]: "1" } },
  };
  await session().api.create(quota);
  try {
    await pause(10_000);
    await kubectl("delete", "pod", "--namespace", NAMESPACE, "--selector", selectorOf("sensor"));
    await pause(10_000);
  } finally {
    await session().api.delete(quota);
  }
}
