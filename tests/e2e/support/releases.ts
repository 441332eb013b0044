import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesObject } from "../../../runtime/base/objects";
import { session } from "./hooks";
import type { Installation } from "./installation";
import { kubectl } from "./kubectl";
import { processesOf } from "./processes";
import { LONG_MS, tell, waitFor } from "./progress";
import { NAMESPACE } from "./session";
import { createVolumes, deleteVolumes } from "./volumes";

const EXAMPLE = "06-outside-event";
/** Where its webhooks are sent to. */
export const URL = `http://argosy-outside-eventsource-svc.${NAMESPACE}.svc:12000/releases`;
export const TOKEN = "the token of the webhook";
/** Where the example makes its objects. */
export const RELEASES = "releases";
const RELEASE = { apiVersion: "releases.example.com/v1", kind: "Release" };
export const CRD = "releases.releases.example.com";

/** A stack with the example outside-event, and what it needs in addition. */
export interface ReleasesStack {
  /** Takes all of it away. */
  readonly takeDown: () => Promise<void>;
}

/**
 * Deploys the example outside-event.
 * @param settings of the stack
 * @param volumes how many members of the bus want one
 */
export async function deployReleases(
  name: string,
  settings: Readonly<Record<string, unknown>>,
  volumes: number,
): Promise<ReleasesStack> {
  const { api } = session();
  const installation: Installation = await session().anotherInstallation(name, {
    examples: [EXAMPLE],
    settings: { outsideEventsStorage: "128Mi", ...settings },
  });
  await createVolumes(volumes);
  await session().createNamespace(RELEASES);
  const up = installation.up();
  up.catch(() => {});
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } };
  await waitFor("the namespace of the operators", () => api.get(namespace), LONG_MS);
  await api.create({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "releases-webhook", namespace: NAMESPACE },
    stringData: { token: TOKEN },
  });
  await up;
  await sensorAsks();
  const takeDown = async (): Promise<void> => {
    await installation.takeDown();
    await session().deleteNamespace(RELEASES);
    await deleteVolumes(volumes);
  };
  return { takeDown };
}

/** Waits until the sensor asks for events. The bus keeps none that come before: see docs/events.md. */
export async function sensorAsks(): Promise<void> {
  const where = ["--namespace", NAMESPACE, "--selector", selectorOf("sensor"), "--tail=-1"];
  await waitFor(
    "the sensor to ask for events",
    async () => assert.match(await kubectl("logs", ...where), /Subscribing to subject/),
    300_000,
  );
}

/** The objects that were made of events. */
export function releases(): Promise<KubernetesObject[]> {
  return session().api.list(RELEASE, RELEASES);
}

/** The id of the event that an object was made of. */
export function idOf({ metadata }: KubernetesObject): string {
  return metadata.annotations?.["argosy.dev/event-id"] ?? "";
}

/**
 * What is told of events of which no object was made, or another. Only of this deployment's CRD: Kubernetes keeps Events for an
 * hour, so those about the CRD of an earlier file still exist.
 */
export async function warnings(): Promise<KubernetesObject[]> {
  const { api } = session();
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: CRD },
  };
  const { uid } = (await api.get(crd)).metadata;
  const all = await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, "default");
  return all.filter((event) => (event["regarding"] as { uid?: string } | undefined)?.uid === uid);
}

/** This many webhooks of releases. */
export function releasesOf(repository: string, count: number) {
  return Array.from({ length: count }, (_, index) => ({
    event: "published",
    repository,
    version: `1.0.${index}`,
  }));
}

/** Waits until each webhook of {@link releasesOf} is an object. */
export async function allAreThere(repository: string, count: number): Promise<void> {
  await waitFor(
    `${count} objects of ${repository}`,
    async () => {
      const ids = (await releases()).map(idOf).filter((id) => id.startsWith(`${repository}/`));
      assert.equal(ids.length, count);
    },
    600_000,
  );
}

/** Finds the pods and the Deployment of a part of the path of outside events. */
export function selectorOf(component: string): string {
  return `app.kubernetes.io/name=argosy-outside,app.kubernetes.io/component=${component}`;
}

/** Kills the pods of these parts twice, the second time as they come back. */
export async function killOutside(...components: readonly string[]): Promise<void> {
  for (let time = 1; time <= 2; time++) {
    await Promise.all(components.map(killPods));
    await pause(4_000);
  }
}

async function killPods(component: string): Promise<void> {
  // The next process of the bus would use the volume while the last one still accepts events: see docs/events.md.
  const how = component === "event-bus" ? ["--grace-period=1"] : ["--grace-period=0", "--force"];
  const which = ["--namespace", NAMESPACE, "--selector", selectorOf(component)];
  await kubectl("delete", "pod", ...how, "--wait=false", ...which);
}

/** Kills the process of the bus twice, in its pod. A cluster whose processes are not on this machine has no such crash. */
export async function crashBus(): Promise<void> {
  for (let time = 1; time <= 2; time++) {
    const servers = processesOf("/nats-server", "POD_NAME=eventbus-argosy-outside-js-0");
    if (servers.length === 0)
      tell("the bus does not crash: its processes are not to be seen on this machine");
    for (const server of servers) process.kill(server, "SIGKILL");
    await pause(4_000);
  }
}
