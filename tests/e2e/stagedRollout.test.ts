import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Condition, JsonObject, KubernetesObject } from "../../runtime/base/objects";
import { argosyIn } from "./support/argosy";
import { session } from "./support/hooks";
import type { Installation } from "./support/installation";
import { needKubectl } from "./support/kubectl";
import { LONG_MS, waitFor } from "./support/progress";
import { enforcesPolicies, serverPod } from "./support/reach";
import { sensorAsks, TOKEN } from "./support/releases";
import { NAMESPACE } from "./support/session";
import { createVolumes, deleteVolumes } from "./support/volumes";
import { startSender } from "./support/webhooks";

const OBJECTS = 20;
const PORT = 8080;
const GREETING = { apiVersion: "hello.example.com/v1", kind: "Greeting" };
const HANDLER = "handlers/01-minimal/main.py";
const DEFINITION = "handlers/01-minimal/operator.yaml";
const TEXT = `f"Hello, {greeting['spec']['to']}!"`;

/** What the handler of the example also does here: tell the time, and say whether an address answers. */
const ANSWER = `
import socket
import time


def text_for(to):
    if to == "time":
        return str(time.time())
    if not to.startswith("tcp:"):
        return f"Hello, {to}!"
    try:
        socket.create_connection((to[4:], ${PORT}), timeout=3).close()
        return "reached"
    except OSError:
        return "not reached"

`;

describe("an operator with rollout, egress and an event that wakes objects", function () {
  this.timeout(LONG_MS);
  let installation: Installation;
  let texts: Readonly<Record<string, unknown>>;

  before(async function () {
    needKubectl(this);
    const { api, team } = session();
    const slices = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" };
    const [slice] = await api.list(slices, "default", "kubernetes.io/service-name=kubernetes");
    const { endpoints, ports } = slice as unknown as Endpoints;
    const apiServer = endpoints.map(({ addresses: [address] }) => ({
      cidr: `${address}/32`,
      ports: ports.map(({ port }) => port),
    }));
    installation = await session().anotherInstallation("rollout", {
      examples: ["01-minimal"],
      settings: { outsideEventsStorage: "128Mi", apiServer },
    });
    const { project } = installation;
    project.edit(HANDLER, TEXT, `text_for(greeting["spec"]["to"])`);
    project.edit(HANDLER, "\n\ndef reconcile", `${ANSWER}\ndef reconcile`);
    project.edit(DEFINITION, "crd: crd.yaml", settingsFor(team));
    await createVolumes(1);
    const up = installation.up();
    up.catch(() => {});
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } };
    await waitFor("the namespace of the operators", () => api.get(namespace), LONG_MS);
    const metadata = { name: "touch", namespace: NAMESPACE };
    await api.create({ apiVersion: "v1", kind: "Secret", metadata, stringData: { token: TOKEN } });
    await up;
    for (let at = 0; at < OBJECTS; at++) await greet(`number-${at}`, "world");
    await waitFor("all objects to be ready", allReady);
    await waitFor("the first version's roll-out to end", () => staged({ stage: "done" }));
    texts = await allTexts();
    assert.equal(Object.keys(texts).length, OBJECTS);
  });

  after(async () => {
    for (const greeting of await session().api.list(GREETING, session().team))
      await session().api.delete(greeting);
    await waitFor("all objects to go", async () =>
      assert.deepEqual(await session().api.list(GREETING, session().team), []),
    );
    await installation?.takeDown();
    await deleteVolumes(1);
  });

  it("reconciles an object that an event from outside names, and no other", async () => {
    for (const name of ["woken", "left"]) await greet(name, "time");
    const texts = () => Promise.all(["woken", "left"].map(textOf));
    await sensorAsks();
    // A late hint reconciles an object once more after its creation.
    const before = await waitFor("the objects to come to rest", async () => {
      const seen = await texts();
      await pause(10_000);
      assert.deepEqual(await texts(), seen);
      return seen;
    });
    const url = `http://argosy-outside-eventsource-svc.${NAMESPACE}.svc:12000/touch`;
    await (await startSender(url, TOKEN, [{ name: "woken" }])).ended();
    await waitFor("the object to be reconciled", async () => assert.notEqual((await texts())[0], before[0]));
    assert.equal((await texts())[1], before[1]);
    await release("woken", "left");
  });

  it("lets the handler connect only where it may", async function () {
    if (!(await enforcesPolicies())) {
      process.stderr.write("      skipped: this cluster's network enforces no NetworkPolicy\n");
      this.skip();
    }
    const [open, closed] = await Promise.all(["open", "closed"].map((app) => serverPod(app, PORT)));
    const reaches = async (name: string, host: string | undefined) => {
      await greet(name, `tcp:${host}`);
      const text = await textOf(name);
      await release(name);
      return text === "reached";
    };
    let tries = 0;
    // A network plugin needs a moment to learn of a new pod.
    await waitFor("the handler to reach the server", async () =>
      assert.ok(await reaches(`allowed-${tries++}`, open)),
    );
    assert.ok(!(await reaches("forbidden", closed)));
  });

  it("serves objects by the former version while the new one has an image that nobody has", async () => {
    const { project, stack } = installation;
    const definition = project.read(DEFINITION);
    project.edit(DEFINITION, "crd: crd.yaml", "crd: crd.yaml\nimage: registry.invalid/none:1");
    const end = new AbortController();
    const update = stack.up({ signal: end.signal });
    update.catch(() => {});
    try {
      await waitFor("a runner that does not become ready", async () => assert.ok(await isStuck()), 300_000);
      await pause(5_000);
      await greet("while", "late");
      assert.equal(await textOf("while"), "Hello, late!");
      await release("while");
      await waitFor("it to go", async () => assert.deepEqual(await allTexts(), texts));
    } finally {
      end.abort();
      await update.catch(() => {});
      await stack.unlock().catch(() => {});
    }
    // As after each update that failed: what Pulumi would have deleted is still there.
    project.write(DEFINITION, definition);
    await stack.up();
    await waitFor("the roll-out to end", () => staged({ stage: "done" }));
  });

  it("halts with a new version that fails, is undone, and goes on after the commit is reverted", async () => {
    const { project, stack } = installation;
    const handler = project.read(HANDLER);
    project.edit(HANDLER, "def reconcile(request):", "def reconcile(request:");
    await stack.up();
    const bad = await waitFor(
      "the halt",
      async () => {
        const state = await rollout();
        assert.ok(state["halted"]);
        return state["program"];
      },
      300_000,
    );
    assert.deepEqual(await allTexts(), texts);
    const failed = (await greetings()).filter((greeting) => readyOf(greeting)?.status !== "True");
    assert.ok(failed.length > 0 && failed.length <= OBJECTS / 2, `${failed.length} have failed`);
    await argosyIn(project.folder, "rollout", "undo", "minimal");
    const undone = async () => assert.notEqual((await staged({ stage: "done" }))["program"], bad);
    await waitFor("the former version", undone, 300_000);
    await waitFor("all objects to be ready again", allReady, 300_000);
    assert.deepEqual(await allTexts(), texts);
    project.write(HANDLER, handler);
    await stack.up();
    await waitFor("the roll-out of the reverted commit to end", () => staged({ stage: "done" }), 300_000);
    await waitFor("all objects to be ready still", allReady);
    await greet("afterwards", "you");
    assert.equal(await textOf("afterwards"), "Hello, you!");
  });

  /** The state of the roll-out. */
  async function rollout(): Promise<JsonObject> {
    // It ends with 1 while a roll-out is halted.
    const told = await argosyIn(installation.project.folder, "rollout", "status", "minimal", "--json").catch(
      ({ stdout }: { stdout?: string }) => stdout ?? "",
    );
    return JSON.parse(told);
  }

  async function staged(wanted: Readonly<Record<string, unknown>>): Promise<JsonObject> {
    const state = await rollout();
    for (const [key, value] of Object.entries(wanted)) assert.equal(state[key], value, JSON.stringify(state));
    assert.ok(!state["halted"], JSON.stringify(state));
    return state;
  }
});

interface Endpoints {
  readonly endpoints: readonly { readonly addresses: readonly string[] }[];
  readonly ports: readonly { readonly port: number }[];
}

function settingsFor(team: string): string {
  return `crd: crd.yaml
rollout: { first: 20%, pauseSeconds: 10, haltAfterFailures: 2 }
egress:
  - { namespace: ${team}, podLabels: { app: open }, ports: [${PORT}] }
on:
  touch:
    webhook: { endpoint: /touch, method: POST, port: "12000", authSecret: { name: touch, key: token } }
    wake: { namespace: ${team}, name: body.name }`;
}

async function greet(name: string, to: string): Promise<void> {
  await session().api.create({ ...GREETING, metadata: { name, namespace: session().team }, spec: { to } });
}

async function release(...names: string[]): Promise<void> {
  for (const name of names)
    await session().api.delete({ ...GREETING, metadata: { name, namespace: session().team } });
}

function greetings(): Promise<KubernetesObject[]> {
  return session().api.list(GREETING, session().team);
}

function readyOf({ status }: KubernetesObject): Condition | undefined {
  const { conditions = [] } = (status ?? {}) as { conditions?: Condition[] };
  return conditions.find(({ type }) => type === "Ready");
}

async function allReady(): Promise<void> {
  for (const greeting of await greetings())
    assert.equal(readyOf(greeting)?.status, "True", JSON.stringify(greeting.status));
}

/** The text of an object's child, once it is there. */
function textOf(name: string): Promise<unknown> {
  const child = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: session().team } };
  return waitFor(
    `the child of ${name}`,
    async () => ((await session().api.get(child))["data"] as JsonObject)["text"],
  );
}

/** The texts of all objects' children, by name. */
async function allTexts(): Promise<Readonly<Record<string, unknown>>> {
  const children = await session().api.list({ apiVersion: "v1", kind: "ConfigMap" }, session().team);
  const owned = children.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === GREETING.kind);
  return Object.fromEntries(owned.map(({ metadata, data }) => [metadata.name, (data as JsonObject)["text"]]));
}

/** Whether a pod of the operator's newest ReplicaSet is there and not ready, next to one that is. */
async function isStuck(): Promise<boolean> {
  const selector = "app.kubernetes.io/component=runner";
  const pods = await session().api.list({ apiVersion: "v1", kind: "Pod" }, NAMESPACE, selector);
  const isReady = ({ status }: KubernetesObject) =>
    ((status as { conditions?: Condition[] }).conditions ?? []).some(
      ({ type, status }) => type === "Ready" && status === "True",
    );
  return pods.some(isReady) && pods.some((pod) => !isReady(pod) && !pod.metadata.deletionTimestamp);
}
